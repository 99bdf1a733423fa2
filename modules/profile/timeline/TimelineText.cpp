#include "profile/timeline/TimelineText.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "profile/TimelineMark.hpp"
#include "profile/timeline/GzipText.hpp"
#include "profile/timeline/TimelineTracks.hpp"

namespace multicard {

namespace {

using EntryTimes = std::unordered_map<std::uint64_t, std::int64_t>;

EntryTimes by_key(const std::vector<CollectiveEntry>& entries) {
  EntryTimes times;
  for (const CollectiveEntry& entry : entries)
    times.emplace(entry.key, entry.begin);
  return times;
}

int distance_of(const TrackEvent& event) {
  return event.group ? event.group->distance : 1;
}

/// "0-3", "1, 3" or "0, 4, ..., 60".
std::string ranks_of(const RankGroup& group) {
  const int second = group.first + group.distance, last = group.first + (group.count - 1) * group.distance;
  if (group.distance == 1) return fmt::format("{}-{}", group.first, last);
  if (group.count == 2) return fmt::format("{}, {}", group.first, last);
  return fmt::format("{}, {}, {}{}", group.first, second, group.count > 3 ? "..., " : "", last);
}

/// Two collectives of one key would have two arrows of one number: the first has it.
std::map<int, std::vector<CollectiveEntry>> entries_of(const std::vector<Track>& tracks, const TimelineRank& rank) {
  std::unordered_set<std::uint64_t> known;
  std::map<int, std::vector<CollectiveEntry>> entries;
  for (const Track& track : tracks)
    for (const TrackEvent& event : track.events)
      if (event.collective != 0 && known.insert(event.collective).second)
        entries[distance_of(event)].push_back({event.collective, rank.common(event.begin)});
  for (auto& [distance, of_groups] : entries)
    std::ranges::sort(of_groups, {}, &CollectiveEntry::key);
  return entries;
}

/// Writes events of one rank.
class PartWriter {
 public:
  PartWriter(const TimelineRank& rank, const EscapedNames& names) : rank_(rank), names_(names), gzip_(kTraceComment) {}

  void write_header(const Timeline& timeline) {
    if (rank_.rank > 0) return;
    text() += fmt::format(
        R"({{"displayTimeUnit":"ns","multicard_trace":{{"ranks":{},"first_step":{},"steps":{},"clock_error_us":{}}},)"
        R"("traceEvents":[)",
        rank_.num_ranks, timeline.first_step, timeline.steps.size(), decimal(rank_.clock_error_ns));
    is_first_ = true;
  }

  void name_process(bool is_gpu) {
    const int width = static_cast<int>(std::to_string(rank_.num_ranks - 1).size());
    const std::string name = fmt::format("rank {:0{}} {}({})", rank_.rank, width, is_gpu ? "GPU " : "", rank_.host);
    begin_event(is_gpu);
    append(R"("ph":"M","name":"process_name","args":{{"name":{}}}}})", json_text(nlohmann::json(name)));
  }

  void name_track(const Track& track, std::int64_t first_lane) {
    for (std::int64_t lane = 0; lane < track.num_lanes; ++lane) {
      const std::string name = lane == 0 ? track.name : fmt::format("{} ({})", track.name, lane + 1);
      begin_event(track.is_gpu);
      append(R"("tid":{},"ph":"M","name":"thread_name","args":{{"name":{}}}}})", first_lane + lane,
             json_text(nlohmann::json(name)));
      begin_event(track.is_gpu);
      append(R"("tid":{0},"ph":"M","name":"thread_sort_index","args":{{"sort_index":{0}}}}})", first_lane + lane);
    }
  }

  void write_box(const Track& track, std::int64_t first_lane, const TrackEvent& event) {
    const std::int64_t begin = time(event.begin);
    begin_event(track.is_gpu);
    append(R"("tid":{},"ph":"X","ts":{},"dur":{},"cat":"{}","name":{})", first_lane + event.lane, decimal(begin),
           decimal(time(event.end) - begin), event.category, names_.json(event.name));
    write_arguments(event);
    text() += '}';
    gzip_.flush();
  }

  /// An arrow to or from the rank of the group before, and one to or from the rank after.
  void write_arrows(const Track& track, std::int64_t first_lane, const TrackEvent& event, const EntryTimes& before,
                    const EntryTimes& after) {
    const std::int64_t mine = rank_.common(event.begin);
    if (const auto other = before.find(event.collective); other != before.end())
      write_arrow(track, first_lane, event, rank_.rank - distance_of(event), /*begins_here=*/mine < other->second);
    if (const auto other = after.find(event.collective); other != after.end())
      write_arrow(track, first_lane, event, rank_.rank, /*begins_here=*/mine <= other->second);
  }

  void write_moment(const InstantEvent& moment) {
    begin_event(false);
    append(R"("tid":{},"ph":"i","s":"p","ts":{},"cat":"decision","name":{},"args":{{"detail":{}}}}})", kFirstTrack,
           decimal(time(moment.at)), json_text(nlohmann::json(moment.name)), json_text(nlohmann::json(moment.detail)));
  }

  void write_counter(const CounterValue& counter) {
    begin_event(false);
    append(R"("ph":"C","ts":{},"name":"{}","args":{{"{}":{}}}}})", decimal(time(counter.at)), counter.name,
           counter.unit, counter.value);
    gzip_.flush();
  }

  std::string finish() {
    if (rank_.rank == rank_.num_ranks - 1) text() += "\n]}\n";
    return gzip_.take();
  }

  static constexpr std::int64_t kFirstTrack = 1;
  std::int64_t num_events() const { return num_events_; }

 private:
  std::string& text() { return gzip_.text(); }

  template <class... Values>
  void append(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text()), format, std::forward<Values>(values)...);
  }

  /// Numbers of processes are those of ranks, not the system's, which two nodes may have given twice; never 0.
  void begin_event(bool is_gpu) {
    text() += std::exchange(is_first_, false) ? "\n" : ",\n";
    append(R"({{"pid":{},)", (rank_.rank + 1) * 10 + (is_gpu ? 1 : 0));
    ++num_events_;
  }

  /// Nanoseconds of the time line. What began before the window begins with it.
  std::int64_t time(std::int64_t own) const { return std::max<std::int64_t>(0, rank_.common(own) - rank_.origin); }

  /// Microseconds, the unit of the format, from nanoseconds, in full: "12.345".
  static std::string decimal(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

  void write_arguments(const TrackEvent& event) {
    const auto sequence = static_cast<std::int64_t>(event.collective & ((std::uint64_t{1} << kSequenceBits) - 1));
    bool is_first = true;
    const auto argument = [&](const char* name, const auto& value) {
      append(R"({}"{}":{})", std::exchange(is_first, false) ? R"(,"args":{)" : ",", name, value);
    };
    if (event.step >= 0) argument("step", event.step);
    if (event.bytes >= 0) argument("bytes", event.bytes);
    if (event.collective != 0) argument("sequence", sequence);
    if (event.group) argument("ranks", json_text(nlohmann::json(ranks_of(*event.group))));
    if (event.waited_ns >= 0) argument("waited_us", decimal(event.waited_ns));
    if (!is_first) text() += '}';
  }

  /// \param pair the lower rank of the two
  void write_arrow(const Track& track, std::int64_t first_lane, const TrackEvent& event, int pair, bool begins_here) {
    const auto sequence = event.collective & ((std::uint64_t{1} << kSequenceBits) - 1);
    begin_event(track.is_gpu);
    // An arrow has the name and the category of its other end: of NCCL's kernels, which may differ, those of the key.
    append(R"("tid":{},"ph":"{}",{}"ts":{},"cat":"collective","name":"collective {}","id":{}}})",
           first_lane + event.lane, begins_here ? 's' : 'f', begins_here ? "" : R"("bp":"e",)",
           decimal(time(event.begin)), event.collective >> kSequenceBits,
           sequence * static_cast<std::uint64_t>(rank_.num_ranks) + static_cast<std::uint64_t>(pair));
  }

  const TimelineRank& rank_;
  const EscapedNames& names_;
  GzipText gzip_;
  bool is_first_ = false;
  std::int64_t num_events_ = 0;
};

/// What collectives carry at a time: those that run at once add up.
void write_rate(PartWriter& part, const Timeline& timeline) {
  std::vector<std::pair<std::int64_t, double>> changes;
  for (const WorkRange& work : timeline.work) {
    if (work.kind != WorkKind::collective || work.bytes <= 0 || work.length() <= 0) continue;
    const double rate = 1e9 * static_cast<double>(work.bytes) / static_cast<double>(work.length());
    changes.emplace_back(work.begin, rate);
    changes.emplace_back(work.end, -rate);
  }
  std::ranges::sort(changes);
  double rate = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    rate += changes[i].second;
    if (i + 1 < changes.size() && changes[i + 1].first == changes[i].first) continue;
    // Rounding leaves some bytes per second where nothing runs.
    part.write_counter({changes[i].first, "collectives", "bytes/s", rate < 1 ? 0 : rate});
  }
}

/// How much of each of a few hundred equal parts of a window its GPU worked, on any stream.
void write_gpu_busy(PartWriter& part, const std::vector<Track>& tracks) {
  constexpr std::int64_t kMostParts = 500, kShortestPart = 100'000;
  std::vector<Span> work;
  for (const Track& track : tracks)
    if (track.is_gpu) work.insert(work.end(), track.events.begin(), track.events.end());
  const std::vector<Span> busy = united(std::move(work));
  if (busy.empty()) return;
  const std::int64_t begin = busy.front().begin, end = busy.back().end;
  const std::int64_t length = std::max(kShortestPart, (end - begin) / kMostParts + 1);
  auto first = busy.begin();
  for (std::int64_t at = begin; at < end; at += length) {
    std::int64_t ns = 0;
    for (auto span = first; span != busy.end() && span->begin < at + length; ++span) {
      ns += std::min(span->end, at + length) - std::max(span->begin, at);
      if (span->end <= at + length) first = span + 1;
    }
    // The last part ends with the work.
    part.write_counter({at, "GPU", "busy", static_cast<double>(ns) / static_cast<double>(std::min(length, end - at))});
  }
  part.write_counter({end, "GPU", "busy", 0.0});
}

void write_tracks(PartWriter& part, const std::vector<Track>& tracks, const EntryTimes& before,
                  const EntryTimes& after) {
  std::int64_t first_lane = PartWriter::kFirstTrack;
  std::unordered_set<std::uint64_t> has_arrows;
  for (const Track& track : tracks) {
    part.name_track(track, first_lane);
    for (const TrackEvent& event : track.events) {
      part.write_box(track, first_lane, event);
      if (event.collective != 0 && has_arrows.insert(event.collective).second)
        part.write_arrows(track, first_lane, event, before, after);
    }
    first_lane += track.num_lanes;
  }
}

}  // namespace

struct TimelineText::Content {
  Content(const Trace& trace, const Timeline& of) : timeline(of), names(trace.names) {
    tracks = tracks_of(trace, timeline, names);
  }

  Timeline timeline;
  EscapedNames names;
  std::vector<Track> tracks;
};

TimelineText::TimelineText(const Trace& trace, const Timeline& timeline, TimelineRank rank)
    : rank_(std::move(rank)), content_(std::make_unique<const Content>(trace, timeline)) {}

TimelineText::~TimelineText() = default;

std::map<int, std::vector<CollectiveEntry>> TimelineText::entries() const {
  return entries_of(content_->tracks, rank_);
}

TimelinePart TimelineText::part(const std::vector<CollectiveEntry>& before,
                                const std::vector<CollectiveEntry>& after) const {
  const Timeline& timeline = content_->timeline;
  PartWriter writer(rank_, content_->names);
  writer.write_header(timeline);
  writer.name_process(false);
  if (std::ranges::any_of(content_->tracks, &Track::is_gpu)) writer.name_process(true);
  write_tracks(writer, content_->tracks, by_key(before), by_key(after));
  for (const InstantEvent& moment : timeline.moments)
    writer.write_moment(moment);
  for (const CounterValue& counter : timeline.counters)
    writer.write_counter(counter);
  write_rate(writer, timeline);
  write_gpu_busy(writer, content_->tracks);
  TimelinePart written;
  written.bytes = writer.finish();
  written.num_events = writer.num_events();
  return written;
}

}  // namespace multicard
