#include "profile/timeline/TimelineTracks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "profile/trace/GpuLine.hpp"
#include "profile/trace/TraceProfile.hpp"

namespace multicard {

namespace {

std::string escaped(const std::string& name) {
  return json_text(nlohmann::json(name));
}

/// In the order of WorkKind, and of GpuWork.
constexpr std::array<const char*, 3> kWorkCategories{"collective", "input", "checkpoint"};
constexpr std::array<const char*, 3> kGpuCategories{"kernel", "gpu_memcpy", "gpu_memset"};

TrackEvent event_of(const Span& span, std::int32_t name, const char* category) {
  TrackEvent event;
  static_cast<Span&>(event) = span;
  event.name = name;
  event.category = category;
  return event;
}

/// Puts boxes that would overlap without lying within each other on lanes of their own: viewers drop such boxes.
void arrange(Track& track) {
  std::ranges::sort(track.events, {}, [](const TrackEvent& event) { return std::tuple(event.begin, -event.end); });
  std::vector<std::vector<std::int64_t>> open;  // by lane, the ends of the boxes that enclose the next one
  for (TrackEvent& event : track.events) {
    std::size_t lane = 0;
    for (; lane < open.size(); ++lane) {
      std::vector<std::int64_t>& ends = open[lane];
      while (!ends.empty() && ends.back() <= event.begin)
        ends.pop_back();
      if (ends.empty() || event.end <= ends.back()) break;
    }
    if (lane == open.size()) open.emplace_back();
    open[lane].push_back(event.end);
    event.lane = static_cast<std::int32_t>(lane);
  }
  track.num_lanes = static_cast<std::int32_t>(open.size());
}

Track step_track(const Trace& trace, const Timeline& timeline, EscapedNames& names) {
  Track track{"steps", false, {}, 1};
  std::int64_t step = timeline.first_step;
  for (const Span& span : timeline.steps) {
    TrackEvent& event = track.events.emplace_back(event_of(span, names.id(fmt::format("step {}", step)), "step"));
    event.step = step++;
  }
  auto at = timeline.steps.begin();
  for (const PhaseSpan& phase : trace.phases) {
    while (at != timeline.steps.end() && at->end <= phase.begin)
      ++at;
    // What follows a step and is then paused, for an evaluation or the end of the window, is in no step.
    if (at == timeline.steps.end() || phase.end > at->end) continue;
    track.events.push_back(event_of(phase, names.id(kPhaseNames[static_cast<std::size_t>(phase.phase)]), "phase"));
  }
  return track;
}

/// "loader-worker", and "loader-worker 4711" where several threads have the name.
std::string thread_name(const Timeline& timeline, std::int64_t thread) {
  const auto named = timeline.thread_names.find(thread);
  if (named == timeline.thread_names.end()) return fmt::format("thread {}", thread);
  const auto has_name = [&](const auto& other) { return other.second == named->second; };
  const bool is_alone = std::ranges::count_if(timeline.thread_names, has_name) == 1;
  return is_alone ? named->second : fmt::format("{} {}", named->second, thread);
}

/// Of each thread, by its number in the trace: operators and calls, which one clock has timed.
void add_operators(const Trace& trace, std::map<std::int32_t, Track>& by_thread) {
  for (const HostRange& range : trace.operators)
    by_thread[range.thread].events.push_back(event_of(range, range.name, "cpu_op"));
  for (const ApiCall& call : trace.calls)
    by_thread[call.thread].events.push_back(event_of(call, call.name, "cuda_runtime"));
}

std::map<std::int64_t, Track> work_tracks(const Timeline& timeline, EscapedNames& names) {
  std::map<std::int64_t, Track> by_thread;
  for (const WorkRange& work : timeline.work) {
    Track& track = by_thread[work.thread];
    TrackEvent& event = track.events.emplace_back(
        event_of(work, names.id(work.name), kWorkCategories[static_cast<std::size_t>(work.kind)]));
    event.bytes = work.bytes;
    event.waited_ns = work.waited_ns;
    if (work.kind != WorkKind::collective) continue;
    event.collective = collective_key(work.name, work.group, work.sequence);
    if (!work.group.is_all()) event.group = &work.group;
  }
  return by_thread;
}

Track block_track(const Trace& trace) {
  Track track{"blocks", false, {}, 1};
  for (const BlockRange& block : trace.blocks)
    track.events.push_back(event_of(block, block.name, "block"));
  return track;
}

/// Finds the ranks that an NCCL kernel joins: its launch says the thread and the time, and the program what that thread
/// was about then.
class LaunchedGroups {
 public:
  LaunchedGroups(const Trace& trace, const Timeline& timeline) : calls_(trace) {
    has_groups_ = !std::ranges::all_of(timeline.launches, [](const auto& launch) { return launch.group.is_all(); });
    for (const CollectiveLaunch& launch : timeline.launches)
      if (const auto number = timeline.threads.find(launch.thread); number != timeline.threads.end())
        by_thread_[number->second].push_back(&launch);
  }

  /// Null where that is not known: without groups all ranks are meant.
  const RankGroup* of(const GpuEvent& kernel) const {
    static const RankGroup kAll;
    const RankGroup* launched = launched_by(kernel);
    return launched || has_groups_ ? launched : &kAll;
  }

 private:
  const RankGroup* launched_by(const GpuEvent& kernel) const {
    const ApiCall* call = calls_.find(kernel.correlation);
    const auto thread = call ? by_thread_.find(call->thread) : by_thread_.end();
    if (thread == by_thread_.end()) return nullptr;
    const auto after = std::ranges::upper_bound(thread->second, call->begin, {}, &CollectiveLaunch::begin);
    if (after == thread->second.begin() || (*std::prev(after))->end < call->begin) return nullptr;
    return &(*std::prev(after))->group;
  }

  CallsByCorrelation calls_;
  bool has_groups_ = false;
  std::map<std::int32_t, std::vector<const CollectiveLaunch*>> by_thread_;
};

std::vector<Track> gpu_tracks(const Trace& trace, const Timeline& timeline) {
  std::map<std::int32_t, Track> by_stream;
  std::map<std::pair<RankGroup, std::string>, std::int64_t> num_collectives;
  const LaunchedGroups groups(trace, timeline);
  std::vector<const GpuEvent*> in_order;
  for (const GpuEvent& event : trace.gpu)
    in_order.push_back(&event);
  std::ranges::stable_sort(in_order, {}, [](const GpuEvent* event) { return event->begin; });
  for (const GpuEvent* work : in_order) {
    TrackEvent& event = by_stream[work->stream].events.emplace_back(
        event_of(*work, work->name, kGpuCategories[static_cast<std::size_t>(work->work)]));
    event.bytes = work->bytes;
    if (!is_communication(trace, *work)) continue;
    const RankGroup* group = groups.of(*work);
    if (!group) continue;
    // All ranks of a group run the same collectives of a kind in the same order, and a window begins between steps.
    const std::string kind = collective_name(trace.names.name(work->name));
    event.collective = collective_key(kind, *group, num_collectives[{*group, kind}]++);
    if (!group->is_all()) event.group = group;
  }
  std::vector<Track> tracks;
  for (auto& [stream, track] : by_stream) {
    track.name = fmt::format("stream {}", trace.streams[static_cast<std::size_t>(stream)].stream);
    track.is_gpu = true;
    tracks.push_back(std::move(track));
  }
  return tracks;
}

}  // namespace

EscapedNames::EscapedNames(const NameTable& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    json_.push_back(escaped(names.name(static_cast<std::int32_t>(i))));
}

std::int32_t EscapedNames::id(const std::string& name) {
  const auto [found, is_new] = ids_.emplace(name, static_cast<std::int32_t>(json_.size()));
  if (is_new) json_.push_back(escaped(name));
  return found->second;
}

std::uint64_t collective_key(std::string_view name, const RankGroup& group, std::int64_t sequence) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a: the same on every machine, unlike std::hash
  const auto add = [&](std::uint64_t more) { hash = (hash ^ more) * 0x100000001b3; };
  for (const char letter : name)
    add(static_cast<unsigned char>(letter));
  for (const int number : {group.first, group.distance, group.count})
    add(static_cast<std::uint64_t>(number));
  return (hash | 1) << kSequenceBits | static_cast<std::uint64_t>(sequence);
}

std::vector<Track> tracks_of(const Trace& trace, const Timeline& timeline, EscapedNames& names) {
  std::vector<Track> tracks;
  tracks.push_back(step_track(trace, timeline, names));
  tracks.push_back(block_track(trace));
  std::map<std::int32_t, Track> operators;
  add_operators(trace, operators);
  std::map<std::int64_t, Track> work = work_tracks(timeline, names);
  // The threads in the order of the system's numbers: that which trains is the first.
  for (const auto& [thread, number] : timeline.threads)
    if (!work.contains(thread) && operators.contains(number)) work[thread];
  for (auto& [thread, track] : work) {
    track.name = thread_name(timeline, thread);
    const auto number = timeline.threads.find(thread);
    if (number != timeline.threads.end() && operators.contains(number->second)) {
      Track& of_thread = operators[number->second];
      of_thread.name = track.name + ", operators";
      tracks.push_back(std::move(of_thread));
    }
    tracks.push_back(std::move(track));
  }
  std::ranges::move(gpu_tracks(trace, timeline), std::back_inserter(tracks));
  std::erase_if(tracks, [](const Track& track) { return track.events.empty(); });
  std::ranges::for_each(tracks, arrange);
  return tracks;
}

}  // namespace multicard
