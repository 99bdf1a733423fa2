#include "profile/trace/GpuLine.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace multicard {

namespace {

/// Calls that start one kernel. A graph's kernels share the correlation of cudaGraphLaunch: their delays are not those
/// of launches.
bool launches_one_kernel(std::string_view name) {
  return name.starts_with("cudaLaunchKernel") || name.starts_with("cudaLaunchCooperativeKernel") ||
         name.starts_with("cuLaunchKernel") || name.starts_with("cuLaunchCooperativeKernel");
}

GpuTime gpu_time(const Trace& trace, std::int64_t device) {
  std::vector<Span> all, compute, communication, memory;
  for (const GpuEvent& event : trace.gpu) {
    if (trace.streams[static_cast<std::size_t>(event.stream)].device != device) continue;
    all.push_back(event);
    (event.work != GpuWork::kernel    ? memory
     : is_communication(trace, event) ? communication
                                      : compute)
        .push_back(event);
  }
  GpuTime time;
  time.device = device;
  const std::vector<Span> busy = united(std::move(all)), computing = united(std::move(compute)),
                          communicating = united(std::move(communication));
  time.span = busy.back().end - busy.front().begin;
  time.busy = total_length(busy);
  time.compute = total_length(computing);
  time.communication = total_length(communicating);
  time.memory = total_length(united(std::move(memory)));
  time.overlap = common_length(communicating, computing);
  return time;
}

/// The events of each stream in the order of their start.
std::map<TraceStream, std::vector<const GpuEvent*>> by_stream(const Trace& trace) {
  std::map<TraceStream, std::vector<const GpuEvent*>> streams;
  for (const GpuEvent& event : trace.gpu)
    streams[trace.streams[static_cast<std::size_t>(event.stream)]].push_back(&event);
  for (auto& [stream, events] : streams)
    std::stable_sort(events.begin(), events.end(),
                     [](const GpuEvent* a, const GpuEvent* b) { return a->begin < b->begin; });
  return streams;
}

}  // namespace

CallsByCorrelation::CallsByCorrelation(const Trace& trace) : trace_(trace) {
  calls_.reserve(trace.calls.size());
  for (std::size_t i = 0; i < trace.calls.size(); ++i)
    if (trace.calls[i].correlation >= 0) calls_[trace.calls[i].correlation] = static_cast<std::int64_t>(i);
}

std::int64_t CallsByCorrelation::index(std::int64_t correlation) const {
  const auto found = calls_.find(correlation);
  return found == calls_.end() ? -1 : found->second;
}

const ApiCall* CallsByCorrelation::find(std::int64_t correlation) const {
  const std::int64_t at = index(correlation);
  return at < 0 ? nullptr : &trace_.calls[static_cast<std::size_t>(at)];
}

bool is_communication(const Trace& trace, const GpuEvent& event) {
  return event.work == GpuWork::kernel && trace.names.name(event.name).find("nccl") != std::string::npos;
}

std::vector<GpuTime> gpu_times(const Trace& trace) {
  std::vector<std::int64_t> devices;
  devices.reserve(trace.streams.size());
  for (const TraceStream& stream : trace.streams)
    devices.push_back(stream.device);
  std::sort(devices.begin(), devices.end());
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  std::vector<GpuTime> times;
  times.reserve(devices.size());
  for (const std::int64_t device : devices)
    times.push_back(gpu_time(trace, device));
  return times;
}

std::vector<StreamRow> stream_rows(const Trace& trace, const CallsByCorrelation& calls) {
  std::vector<StreamRow> rows;
  for (const auto& [stream, events] : by_stream(trace)) {
    StreamRow row;
    row.device = stream.device;
    row.stream = stream.stream;
    std::vector<Span> spans;
    std::vector<std::int64_t> gaps;
    std::int64_t end = events.front()->begin;
    for (const GpuEvent* event : events) {
      spans.push_back(*event);
      if (event->begin > end) {
        gaps.push_back(event->begin - end);
        const ApiCall* call = calls.find(event->correlation);
        if (call && call->begin > end) {
          ++row.host_bound_gaps;
          row.host_bound_ns += gaps.back();
        }
      }
      end = std::max(end, event->end);
    }
    row.count = static_cast<std::int64_t>(events.size());
    row.span = end - events.front()->begin;
    row.busy = total_length(united(std::move(spans)));
    row.gaps = distribution_of(std::move(gaps));
    rows.push_back(row);
  }
  return rows;
}

LaunchDelays launch_delays(const Trace& trace, const CallsByCorrelation& calls) {
  LaunchDelays delays;
  std::vector<std::int64_t> from_start, from_end, queue;
  for (const auto& [stream, events] : by_stream(trace)) {
    std::int64_t end = events.front()->begin;
    for (const GpuEvent* event : events) {
      const std::int64_t before = std::exchange(end, std::max(end, event->end));
      if (event->work != GpuWork::kernel) continue;
      const ApiCall* call = calls.find(event->correlation);
      if (!call) {
        ++delays.unmatched;
        continue;
      }
      if (!launches_one_kernel(trace.names.name(call->name))) continue;
      from_start.push_back(event->begin - call->begin);
      from_end.push_back(event->begin - call->end);
      queue.push_back(event->begin - std::max(call->end, event == events.front() ? call->end : before));
    }
  }
  delays.from_start = distribution_of(std::move(from_start));
  delays.from_end = distribution_of(std::move(from_end));
  delays.queue = distribution_of(std::move(queue));
  return delays;
}

}  // namespace multicard
