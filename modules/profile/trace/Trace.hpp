#pragma once
/// \file The events of a Kineto trace that the tables of profiles are made from.

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/Measures.hpp"
#include "profile/NameTable.hpp"
#include "profile/Spans.hpp"

namespace multicard {

/// A call of the CUDA runtime or driver by a thread of the host.
struct ApiCall : Span {
  std::int64_t correlation = -1;  ///< the same as that of the work it started on the GPU; -1: none
  std::int32_t name = 0;          ///< in Trace::names
  std::int32_t thread = 0;        ///< in Trace::threads
};

enum class GpuWork : std::uint8_t { kernel, copy, set };

/// A kernel, copy or memset as it ran on the GPU.
struct GpuEvent : Span {
  std::int64_t correlation = -1;
  std::int64_t bytes = -1;  ///< of copies and sets; -1: the trace does not say
  std::int32_t name = 0;    ///< in Trace::names
  std::int32_t stream = 0;  ///< in Trace::streams
  GpuWork work = GpuWork::kernel;
};

/// An operator of PyTorch, or a range that the program named, on a thread of the host.
struct HostRange : Span {
  std::int32_t name = 0;    ///< in Trace::names
  std::int32_t thread = 0;  ///< less than Trace::num_threads
};

/// The node of the autograd graph that an operator runs. Nodes have the numbers that the thread of the forward pass
/// gave them.
struct AutogradNode {
  std::int64_t number = -1;  ///< -1: the operator runs none
  std::int32_t thread = 0;   ///< of the forward pass
};

/// A phase of a step, as the thread that trains came to it.
struct PhaseSpan : Span {
  Phase phase = Phase::other;
};

/// The forward pass of a block of the model, on the thread `thread`. The nodes that it made have numbers from
/// `first_node` up to `end_node`, which is not one of them.
struct BlockRange : HostRange {
  std::int64_t first_node = 0, end_node = 0;
};

/// Memory that was allocated at one moment.
struct AllocatedMemory {
  std::int64_t at = 0, bytes = 0;
  std::int32_t thread = 0;
};

/// A stream of a GPU as the trace numbers it.
///
/// A negative number is that of a name, or of what the trace does not say.
struct TraceStream {
  std::int64_t device = 0, stream = 0;
  bool operator==(const TraceStream&) const = default;
  bool operator<(const TraceStream& other) const {
    return std::tie(device, stream) < std::tie(other.device, other.stream);
  }
};

/// What one process recorded, times in whole nanoseconds.
struct Trace {
  NameTable names;
  std::vector<ApiCall> calls;
  std::vector<GpuEvent> gpu;
  std::vector<HostRange> operators;  ///< category cpu_op
  /// \name Of windows of this program; empty in what others recorded
  /// @{
  std::vector<AutogradNode> nodes;  ///< of each of `operators`
  std::vector<PhaseSpan> phases;    ///< in the order of time, without overlap
  std::vector<BlockRange> blocks;
  std::vector<AllocatedMemory> allocations;
  bool has_allocations = false;     ///< the window records memory: there may be none all the same
  bool has_event_destroys = false;  ///< `calls` has those of cudaEventDestroy, which Kineto leaves out
  /// @}
  std::vector<HostRange> ranges;  ///< category user_annotation
  std::vector<TraceStream> streams;
  std::int32_t num_threads = 0;
  std::int64_t num_events = 0;  ///< of every kind, those that are not read included
  std::optional<std::int64_t> rank, world_size;
  std::vector<std::string> notices;  ///< what the file holds that no table can show
};

}  // namespace multicard
