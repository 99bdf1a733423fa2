#pragma once
/// \file What a trace says of the GPUs' time lines.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/Profile.hpp"
#include "profile/trace/Trace.hpp"

namespace multicard {

/// The call that started a work on the GPU.
class CallsByCorrelation {
 public:
  explicit CallsByCorrelation(const Trace& trace);

  /// Null where the trace lacks it.
  const ApiCall* find(std::int64_t correlation) const;
  /// Index of that call in Trace::calls; -1 where the trace lacks it.
  std::int64_t index(std::int64_t correlation) const;

 private:
  const Trace& trace_;
  std::unordered_map<std::int64_t, std::int64_t> calls_;
};

/// Kernels of NCCL are known by their names.
bool is_communication(const Trace& trace, const GpuEvent& event);

/// The collective that a kernel of NCCL belongs to: "AllReduce" of "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)".
std::string collective_name(std::string_view kernel);

/// The events of each stream in the order of their start.
using GpuLines = std::map<TraceStream, std::vector<const GpuEvent*>>;
GpuLines gpu_lines(const Trace& trace);

/// One for each GPU with work in the trace, by its number.
std::vector<GpuTime> gpu_times(const Trace& trace, const GpuLines& lines);

/// One for each stream, by device and stream.
std::vector<StreamRow> stream_rows(const GpuLines& lines, const CallsByCorrelation& calls);

LaunchDelays launch_delays(const Trace& trace, const GpuLines& lines, const CallsByCorrelation& calls);

}  // namespace multicard
