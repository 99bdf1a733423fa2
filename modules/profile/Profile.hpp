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

#include "base/Measures.hpp"

namespace multicard {

/// Of a set of durations or delays, ns. Percentiles are linear between neighbours; all are 0 of nothing.
struct Distribution {
  std::int64_t count = 0, total = 0, max = 0;
  double mean = 0, p95 = 0;
  std::optional<std::int64_t> min = 0;  ///< none where a results file holds the profile
  std::optional<double> median = 0;     ///< the same
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

/// What operators cost, without those that they call. None: not recorded.
struct OperatorCost {
  std::int64_t self_ns = 0;                                    ///< on the host
  std::optional<std::int64_t> gpu_ns = std::nullopt;           ///< of the work on the GPU that they started
  std::optional<std::int64_t> gpu_count = std::nullopt;        ///< of that work
  std::optional<std::int64_t> allocated_bytes = std::nullopt;  ///< where the window records memory

  /// What only one of them knows becomes the value of that one.
  void add(const OperatorCost& other) {
    self_ns += other.self_ns;
    add_known(gpu_ns, other.gpu_ns);
    add_known(gpu_count, other.gpu_count);
    add_known(allocated_bytes, other.allocated_bytes);
  }

 private:
  static void add_known(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& more) {
    if (more) sum = sum.value_or(0) + *more;
  }
};

/// An operator of PyTorch in one phase of the steps.
struct OperatorRow {
  std::string name;
  Distribution time;  ///< on the host, the operators that it calls included
  OperatorCost cost;
  std::string phase = {};  ///< empty where the program's phases are not known
};

/// A phase of the steps of a window, in the order of kPhaseNames. Its cost is that of the operators which began in it,
/// on any thread.
struct PhaseRow {
  std::string name;
  Distribution time;  ///< on the thread that trains
  OperatorCost cost;
  std::int64_t order = 0;  ///< in kPhaseNames
};

/// Part of a block's work: the forward pass, the forward pass run again where activations are recomputed, or backward.
struct BlockRow {
  std::string name;
  std::string pass;   ///< forward, recomputed, backward
  Distribution time;  ///< of the block's passes on the host; of backward that of its nodes, with what they run again
  OperatorCost cost;
  std::int64_t order = 0;  ///< of the blocks, by their first forward pass
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
  std::int64_t whole_ns = 0;  ///< the denominator
  bool is_recorded = true;    ///< false: the profiler does not record the call, or recorded nothing of its kind

  /// None where the denominator is 0.
  std::optional<double> share() const;
};

/// A thread of the program during a window.
struct ThreadRow {
  std::string name;             ///< of threads of one name all together
  std::int64_t count = 0;       ///< threads
  std::int64_t window_ns = 0;   ///< how long the window was open, for each thread
  std::int64_t running_ns = 0;  ///< on a core
  std::int64_t waiting_ns = 0;  ///< ready to run, while others had the cores
  /// Waited for something else: work, data, another rank.
  std::int64_t idle_ns() const { return window_ns - running_ns - waiting_ns; }
};

/// Collectives of one kind that the program started during a window, as /runs/<run>/communication counts them.
struct ExchangeRow {
  std::string name;
  CommunicationTotals totals;
};

/// Reads or writes of HDF5 files of one kind during a window, as /runs/<run>/io/hdf5 counts them.
struct FileRow {
  std::string name;
  FileTotals totals;
};

/// Calls that the program made of one function of MPI during a window.
struct MpiRow {
  std::string name;  ///< MPI_Allreduce, ...
  std::int64_t calls = 0;
  std::int64_t bytes = 0;  ///< that this rank handed over, or received where the function sends nothing
  std::int64_t ns = 0;     ///< waiting for other ranks included
};

/// What one rank's profile says.
struct Profile {
  std::int64_t rank = 0;
  std::int64_t num_steps = 0;  ///< steps that the program named; 0: unknown
  std::int64_t window_ns = 0;  ///< how long the windows of this program were open; 0 of others' traces
  std::vector<NamedTimes> calls, kernels;
  std::vector<NamedTimes> collectives;  ///< NCCL kernels by collective: AllReduce, Broadcast, ...
  std::vector<CopyRow> copies;
  std::vector<OperatorRow> operators;
  std::vector<PhaseRow> phases;
  std::vector<BlockRow> blocks;
  std::vector<ThreadRow> threads;
  std::vector<ExchangeRow> exchanges;
  std::vector<FileRow> files;
  std::vector<MpiRow> mpi;
  std::vector<GpuTime> gpus;
  std::vector<StreamRow> streams;
  LaunchDelays delays;
  std::int64_t api_ns = 0, kernel_ns = 0, copy_ns = 0;  ///< the denominators: sums over threads and streams
  std::vector<ShareRow> shares;
  bool has_event_destroys = false;  ///< `calls` has those of cudaEventDestroy: how many is known, also where it is none

  /// \name What was recorded: of all else that GPUs do nothing is known, not even that it is none
  /// @{
  bool has_calls() const { return !calls.empty(); }
  bool has_gpu_work() const { return !kernels.empty() || !copies.empty(); }
  /// @}
};

/// Fills in `shares`, and the denominators, from calls, kernels, copies and collectives: figure 3 of
/// arXiv 2503.15252, calls by their exact names.
void add_shares(Profile& profile);

/// Puts the rows of every table into their order: by total time, of operators by self time, of threads by
/// the time they ran, the longest first; phases and blocks by `order`.
void sort_rows(Profile& profile);

}  // namespace multicard
