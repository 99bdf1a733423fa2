#pragma once
/// \file All-reduce, broadcast and scatter of tensors over ranks.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/Measures.hpp"
#include "base/RankGroup.hpp"
#include "comm/Communicator.hpp"
#include "dist/ExchangeOptions.hpp"
#include "dist/ReceivedBytes.hpp"

namespace multicard {

/// An operation under way. Wait for it before its tensor is read or written again, and before the collectives it came
/// from are destroyed.
class Work {
 public:
  virtual ~Work() = default;
  /// Host tensors: blocks until the result is there. Device tensors: makes the current stream wait for it.
  /// Throws CommunicationError when the operation failed.
  virtual void wait() = 0;
};

/// An operation that was done when it returned.
class DoneWork final : public Work {
 public:
  void wait() override {}
};

struct ReduceOptions {
  CommDtype comm_dtype = CommDtype::same;
  std::optional<int> root;  ///< the one rank that gets the sum; by default all
};

/// How gradients of a type are sent: those that have the communication dtype already, or are float64, as they are.
inline CommDtype comm_dtype_for(at::ScalarType type, CommDtype comm_dtype) {
  return type == at::kFloat ? comm_dtype : CommDtype::same;
}

/// \name Gradient buckets by default
/// @{
inline constexpr std::int64_t kBucketBytes = std::int64_t{4} << 20;
/// As torch's DistributedDataParallel: NVLink reaches its bandwidth with messages of tens of MB.
inline constexpr std::int64_t kNcclBucketBytes = std::int64_t{25} << 20;
/// @}

/// Collectives on tensors of one device. All operations are collective: every rank calls them in the same order with
/// equal shapes and types. One thread at a time may call. Sums take contiguous 1-D float32, float64 or bfloat16
/// tensors, are made in rank order (within a node) and give every rank the same bits. Each operation is bounded by the
/// job's time-out (comm/Watchdog.hpp).
///
/// An all-reduce whose CommDtype is bf16 or fp16 takes float32 tensors. Each rank rounds its values to that type, to
/// nearest even; they are added in float32 in rank order; the sum is rounded to the type once, and everybody gets that
/// as float32. So it is with one rank, too. Over MPI this holds inside a node, where ranks read each other's memory and
/// round what they read; the sums of nodes are then sent, added in float32 in the order of the nodes' first ranks,
/// and the total is rounded and sent back. What exceeds the largest fp16 (65504) becomes infinite and stays so, NaN
/// stays NaN: a check of the sum sees both. Payload is counted in the 16 bits. Tensors of bfloat16 are summed like
/// float32 ones whose CommDtype is bf16, and allow no CommDtype but same.
class TensorCollectives {
 public:
  virtual ~TensorCollectives() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Where their tensors are.
  virtual at::Device device() const = 0;
  /// "null" | "mpi" | "nccl"
  virtual const char* name() const = 0;
  /// How long a sum must be that its start-up cost does not show: the size of gradient buckets by default.
  virtual std::int64_t bucket_bytes() const { return kBucketBytes; }

  /// Collective. A zeroed 1-D tensor in memory that the sums of these collectives reach without a copy (on the CPU:
  /// shared by the ranks of a node). It may outlive the collectives.
  virtual at::Tensor allocate_flat(std::int64_t numel, at::ScalarType type) = 0;

  /// Collective. Starts the in-place all-reduce (sum) over all ranks; returns at once. With a root it is a reduce: the
  /// others' values are unspecified afterwards.
  virtual std::unique_ptr<Work> start_all_reduce(const at::Tensor& flat, const ReduceOptions& options) = 0;
  /// Collective. Starts the all-reduce of a small tensor (statistics, metrics). On the host it takes a path that
  /// does not wait for the sums started before, and is done when this returns.
  virtual std::unique_ptr<Work> start_small_all_reduce(const at::Tensor& flat) = 0;
  /// Collective. The same, and waits.
  void all_reduce(const at::Tensor& flat) { start_small_all_reduce(flat)->wait(); }
  /// Collective. Starts gathering all ranks' parts into `whole`, where they follow each other by rank; `part` may be
  /// its place there. Contiguous, any type, equal numbers of elements on all ranks.
  virtual std::unique_ptr<Work> start_all_gather(const at::Tensor& part, const at::Tensor& whole) = 0;
  /// Collective. Starts the in-place reduce-scatter (sum): of the size() equal parts of `flat` this rank's gets the sum
  /// over all ranks, the others' are unspecified afterwards. On the host its bits are those of start_all_reduce(), and
  /// with a CommDtype on the GPU, too; without one NCCL adds in an order of its own.
  virtual std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype) = 0;
  /// Collective. Everybody receives root's values of all tensors, as one operation; any types. Each tensor fills its
  /// memory without gaps, in any order of dimensions (channels_last, say), equal on all ranks.
  virtual void broadcast(const std::vector<at::Tensor>& tensors, int root) = 0;
  /// Collective. Rank r receives into `mine` the r-th block of rows of root's `all`, which has rows[r] rows (any may
  /// be 0); elsewhere `all` is ignored. Any type, contiguous.
  virtual void scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                            int root) = 0;

  /// What was done so far, by kind: all_reduce, reduce, broadcast, scatter, all_gather, reduce_scatter. Exposed time is
  /// the time spent waiting: on the host, or of the device's current stream.
  virtual std::map<std::string, CommunicationTotals> totals() = 0;
  /// Which ranks of the run these are, for what is profiled; all of them by default. Before the first operation.
  virtual void set_group(const RankGroup& group) { (void)group; }
  /// What all-reduces have received from other nodes so far, where that is known (mpi).
  virtual ReceivedByRank received() const { return {}; }
};

/// Collective over `communicator`. The collectives for tensors on `device`: without MPI or, when automatic, with one
/// rank, null ones; else mpi for the CPU and nccl for CUDA. With Backend::none those of Backend::automatic, which
/// exchange no gradients (dist/SilentCollectives.hpp). Throws UsageError when backend and device do not fit, and
/// EnvironmentError when NCCL is not compiled in (CMake option MULTICARD_CUDA).
std::unique_ptr<TensorCollectives> make_collectives(Backend backend, const Communicator& communicator,
                                                    at::Device device, Hierarchy hierarchy = Hierarchy::nodes);

/// Collective. Everybody receives root's values of all tensors; any types and strides. Those that are elsewhere than
/// the device of the collectives are sent as one.
void broadcast_tensors(const std::vector<at::Tensor>& tensors, TensorCollectives& collectives, int root = 0);

}  // namespace multicard
