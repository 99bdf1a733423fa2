#include "profile/trace/GpuLine.hpp"

#include <algorithm>
#include <limits>
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

/// Spans of the events of one GPU.
struct GpuSpans {
  std::vector<Span> all, compute, communication, memory;
};

GpuTime gpu_time(std::int64_t device, GpuSpans spans) {
  GpuTime time;
  time.device = device;
  const std::vector<Span> busy = united(std::move(spans.all)), computing = united(std::move(spans.compute)),
                          communicating = united(std::move(spans.communication));
  time.span = busy.back().end - busy.front().begin;
  time.busy = total_length(busy);
  time.compute = total_length(computing);
  time.communication = total_length(communicating);
  time.memory = total_length(united(std::move(spans.memory)));
  time.overlap = common_length(communicating, computing);
  return time;
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

std::string collective_name(std::string_view kernel) {
  constexpr std::string_view kBefore = "Kernel_";
  const std::size_t before = kernel.find(kBefore);
  const std::string_view rest = kernel.substr(before == kernel.npos ? kernel.find("nccl") : before + kBefore.size());
  return std::string(rest.substr(0, rest.find_first_of("_(")));
}

GpuLines gpu_lines(const Trace& trace) {
  GpuLines streams;
  for (const GpuEvent& event : trace.gpu)
    streams[trace.streams[static_cast<std::size_t>(event.stream)]].push_back(&event);
  for (auto& [stream, events] : streams)
    std::stable_sort(events.begin(), events.end(),
                     [](const GpuEvent* a, const GpuEvent* b) { return a->begin < b->begin; });
  return streams;
}

std::vector<GpuTime> gpu_times(const Trace& trace, const GpuLines& lines) {
  std::map<std::int64_t, GpuSpans> gpus;
  for (const auto& [stream, events] : lines) {
    GpuSpans& spans = gpus[stream.device];
    for (const GpuEvent* event : events) {
      spans.all.push_back(*event);
      (event->work != GpuWork::kernel    ? spans.memory
       : is_communication(trace, *event) ? spans.communication
                                         : spans.compute)
          .push_back(*event);
    }
  }
  std::vector<GpuTime> times;
  times.reserve(gpus.size());
  for (auto& [device, spans] : gpus)
    times.push_back(gpu_time(device, std::move(spans)));
  return times;
}

std::vector<StreamRow> stream_rows(const GpuLines& lines, const CallsByCorrelation& calls) {
  std::vector<StreamRow> rows;
  for (const auto& [stream, events] : lines) {
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

LaunchDelays launch_delays(const Trace& trace, const GpuLines& lines, const CallsByCorrelation& calls) {
  LaunchDelays delays;
  std::vector<std::int64_t> from_start, from_end, queue;
  for (const auto& [stream, events] : lines) {
    std::int64_t end = std::numeric_limits<std::int64_t>::min();  // of the work before
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
      queue.push_back(event->begin - std::max(call->end, before));
    }
  }
  delays.from_start = distribution_of(std::move(from_start));
  delays.from_end = distribution_of(std::move(from_end));
  delays.queue = distribution_of(std::move(queue));
  return delays;
}

}  // namespace multicard
