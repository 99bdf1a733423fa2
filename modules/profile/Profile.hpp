#pragma once
/// \file The tables of a profile: calls, kernels, copies, collectives, operators, and how a GPU spent its time.
///
/// Times are whole nanoseconds. GPU time is that of kernels, copies and memsets alone; calls are those of the CUDA
/// runtime and driver. Definitions follow Nsight Systems (cuda_api_sum, cuda_gpu_kern_sum, cuda_gpu_mem_time_sum) and
/// Holistic Trace Analysis, without its rounding to microseconds.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace multicard {

/// Of a set of durations or delays, ns. Percentiles are linear between neighbours; all are 0 of nothing.
struct Distribution {
  std::int64_t count = 0, total = 0, min = 0, max = 0;
  double mean = 0, median = 0, p95 = 0;
};

Distribution distribution_of(std::vector<std::int64_t> values);

/// A row of a table by name.
struct NamedTimes {
  std::string name;
  Distribution time;
};

/// Copies of one direction, or memsets.
struct CopyRow {
  std::string direction;  ///< HtoD, DtoH, DtoD, PtoP; memsets: "set"
  Distribution time;
  std::int64_t bytes = 0;
  std::int64_t without_bytes = 0;  ///< copies whose size the trace does not say

  /// Bytes per nanosecond, that is GB/s: all bytes by all time. None where a size or the time is missing.
  std::optional<double> bandwidth() const;
};

/// NCCL kernels of one collective.
struct CollectiveRow {
  std::string name;  ///< AllReduce, Broadcast, ...
  Distribution time;
};

/// An operator of PyTorch, without those that it calls where a column says self.
struct OperatorRow {
  std::string name;
  Distribution time;         ///< on the host, the operators that it calls included
  std::int64_t self_ns = 0;  ///< without these
  std::int64_t gpu_ns = 0;   ///< of the work on the GPU that it started itself
  std::int64_t gpu_count = 0;
};

/// How the streams of a GPU spent the time from the beginning of its first work to the end of its last.
struct GpuTime {
  std::int64_t device = 0;
  std::int64_t span = 0;
  std::int64_t busy = 0;           ///< a kernel, copy or memset ran on any stream
  std::int64_t compute = 0;        ///< a kernel of no collective
  std::int64_t communication = 0;  ///< an NCCL kernel
  std::int64_t memory = 0;         ///< a copy or memset
  std::int64_t overlap = 0;        ///< of communication with computation

  std::int64_t idle() const { return span - busy; }
  std::int64_t exposed() const { return communication - overlap; }
};

/// One stream of a GPU.
struct StreamRow {
  std::int64_t device = 0, stream = 0;
  std::int64_t count = 0, span = 0, busy = 0;
  Distribution gaps;                 ///< between one work and the next
  std::int64_t host_bound_gaps = 0;  ///< gaps in which the stream waited for a launch that had not begun yet
  std::int64_t host_bound_ns = 0;
};

/// From the launch of kernels to their start; of kernels that a launch call of their own started.
struct LaunchDelays {
  Distribution from_start;     ///< kernel's start less the start of its launch call
  Distribution from_end;       ///< less the end of that call; may be negative
  Distribution queue;          ///< less the later of that end and the end of the work before it on its stream
  std::int64_t unmatched = 0;  ///< kernels whose launch the trace lacks
};

/// A figure of the study's table of shares.
struct ShareRow {
  std::string name;
  std::string of;  ///< api, copies or kernels: whose total is the denominator
  std::int64_t count = 0, ns = 0;
  std::optional<double> share;  ///< none where the denominator is 0
  bool is_recorded = true;      ///< false: the profiler does not record the call
};

/// What one rank's profile says.
struct Profile {
  std::int64_t rank = 0;
  std::int64_t num_steps = 0;  ///< steps that the program named; 0: unknown
  std::vector<NamedTimes> calls, kernels;
  std::vector<CopyRow> copies;
  std::vector<CollectiveRow> collectives;
  std::vector<OperatorRow> operators;
  std::vector<GpuTime> gpus;
  std::vector<StreamRow> streams;
  LaunchDelays delays;
  std::int64_t api_ns = 0, kernel_ns = 0, copy_ns = 0;  ///< the denominators: sums over threads and streams
  std::vector<ShareRow> shares;
};

}  // namespace multicard
