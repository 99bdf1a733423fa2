#include "profile/trace/TraceProfile.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <unordered_map>

#include "profile/trace/GpuLine.hpp"
#include "profile/trace/OperatorTimes.hpp"
#include "profile/trace/StepParts.hpp"

namespace multicard {

namespace {

/// Durations by key, then one row each.
template <class Key>
class Groups {
 public:
  void add(const Key& key, std::int64_t duration) { durations_[key].push_back(duration); }

  /// `row(key, distribution)` makes a row.
  template <class Row, class MakeRow>
  std::vector<Row> rows(const MakeRow& row) {
    std::vector<Row> rows;
    rows.reserve(durations_.size());
    for (auto& [key, durations] : durations_)
      rows.push_back(row(key, distribution_of(std::move(durations))));
    return rows;
  }

 private:
  std::map<Key, std::vector<std::int64_t>> durations_;
};

/// "HtoD" of "Memcpy HtoD (Pinned -> Device)".
std::string direction_of(std::string_view name) {
  const std::string_view rest = name.substr(std::min(name.find(' '), name.size() - 1) + 1);
  return std::string(rest.substr(0, rest.find(' ')));
}

template <class Event>
std::vector<NamedTimes> by_name(const Trace& trace, const std::vector<Event>& events, bool (*takes)(const Event&)) {
  Groups<std::int32_t> groups;
  for (const Event& event : events)
    if (takes(event)) groups.add(event.name, event.length());
  return groups.rows<NamedTimes>([&](std::int32_t name, const Distribution& time) {
    return NamedTimes{trace.names.name(name), time};
  });
}

std::vector<CopyRow> copies_of(const Trace& trace) {
  struct Bytes {
    std::int64_t sum = 0, without = 0;
  };
  Groups<std::string> groups;
  std::map<std::string, Bytes> bytes;
  for (const GpuEvent& event : trace.gpu) {
    if (event.work == GpuWork::kernel) continue;
    const std::string direction = event.work == GpuWork::set ? "set" : direction_of(trace.names.name(event.name));
    groups.add(direction, event.length());
    Bytes& of = bytes[direction];
    if (event.bytes >= 0)
      of.sum += event.bytes;
    else
      ++of.without;
  }
  return groups.rows<CopyRow>([&](const std::string& direction, const Distribution& time) {
    return CopyRow{direction, time, bytes[direction].sum, bytes[direction].without};
  });
}

std::vector<NamedTimes> collectives_of(const Trace& trace) {
  Groups<std::string> groups;
  for (const GpuEvent& event : trace.gpu)
    if (is_communication(trace, event)) groups.add(collective_name(trace.names.name(event.name)), event.length());
  return groups.rows<NamedTimes>([](const std::string& name, const Distribution& time) {
    return NamedTimes{name, time};
  });
}

std::int64_t num_steps(const Trace& trace) {
  return std::count_if(trace.ranges.begin(), trace.ranges.end(), [&](const HostRange& range) {
    return trace.names.name(range.name).starts_with("ProfilerStep#");
  });
}

}  // namespace

Profile profile_of(const Trace& trace, std::int64_t rank) {
  Profile profile;
  profile.rank = trace.rank.value_or(rank);
  profile.num_steps = num_steps(trace);
  profile.calls = by_name<ApiCall>(trace, trace.calls, [](const ApiCall&) { return true; });
  profile.kernels =
      by_name<GpuEvent>(trace, trace.gpu, [](const GpuEvent& event) { return event.work == GpuWork::kernel; });
  profile.copies = copies_of(trace);
  profile.collectives = collectives_of(trace);
  profile.has_event_destroys = trace.has_event_destroys;
  if (profile.has_calls() || profile.has_gpu_work()) add_shares(profile);
  const CallsByCorrelation calls(trace);
  const GpuLines lines = gpu_lines(trace);
  profile.gpus = gpu_times(trace, lines);
  profile.streams = stream_rows(lines, calls);
  profile.delays = launch_delays(trace, lines, calls);
  const PlacedOperators placed = placed_operators(trace, calls);
  profile.operators = operator_rows(trace, placed);
  profile.phases = phase_rows(trace, placed, calls);
  profile.blocks = block_rows(trace, placed);
  sort_rows(profile);
  return profile;
}

}  // namespace multicard
