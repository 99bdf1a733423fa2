#pragma once
/// \file Collectives on host tensors over MPI and shared memory; for modules/dist and its tests only.

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "comm/Communicator.hpp"
#include "dist/CommStats.hpp"
#include "dist/CommThread.hpp"
#include "dist/HostCopies.hpp"
#include "dist/NodeAllGather.hpp"
#include "dist/NodeAllReduce.hpp"
#include "dist/NodeReduceScatter.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Operations started run one after the other on a communication thread; small sums and the other operations run on the
/// caller's, over communicators and buffers of their own, so that they pass those under way.
class MpiCollectives : public TensorCollectives {
 public:
  /// Collective. `node`: the ranks that share memory with this one, in rank order.
  MpiCollectives(const Communicator& communicator, const Communicator& node);
  /// Not collective. Operations that were not waited for are aborted, on the other ranks of the node too.
  ~MpiCollectives() override;

  int rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  at::Device device() const override { return at::kCPU; }
  const char* name() const override { return "mpi"; }
  at::Tensor allocate_flat(std::int64_t numel, at::ScalarType type) override;
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& flat, const ReduceOptions& options) override;
  std::unique_ptr<Work> start_small_all_reduce(const at::Tensor& flat) override;
  std::unique_ptr<Work> start_all_gather(const at::Tensor& part, const at::Tensor& whole) override;
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype) override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                    int root) override;
  std::map<std::string, CommunicationTotals> totals() override { return stats_.totals(); }
  void set_group(const RankGroup& group) override { ranks_ = group; }
  ReceivedByRank received() const override { return all_reduce_.received(); }

 private:
  class HostWork;
  struct NumberedMemory {
    std::size_t number = 0;  ///< equal on all ranks, as they allocate in the same order
    std::weak_ptr<SharedMemory> memory;
  };
  /// The one that holds a tensor, and its number; null where there is none.
  std::pair<std::shared_ptr<SharedMemory>, std::size_t> memory_of(const at::Tensor& tensor) const;
  ReduceOperand operand(const at::Tensor& flat, const ReduceOptions& options) const;
  /// Runs an operation on the communication thread. \param operation returns how long it waited for other ranks, and
  /// holds the tensors that it works on
  template <class Operation>
  std::unique_ptr<Work> start(CollectiveKind kind, std::int64_t bytes, const char* name, Operation operation);
  /// Runs an operation on this thread, which waits all the time. \param operation returns how long for other ranks
  template <class Operation>
  void run_here(CollectiveKind kind, std::int64_t bytes, const char* name, const Operation& operation);

  Communicator communicator_;
  NodeGroup group_;  ///< of the communication thread
  NodeAllReduce all_reduce_;
  NodeReduceScatter reduce_scatter_;
  NodeAllGather all_gather_;
  SmallAllReduce small_;
  HostCopies copies_;
  std::vector<NumberedMemory> memories_;  ///< those of tensors that are gone leave with the next allocation
  std::size_t num_allocated_ = 0;
  RankGroup ranks_;
  std::int64_t num_large_ = 0, num_here_ = 0;  ///< operations so far on either thread: equal on all ranks
  CommStats stats_;
  CommThread thread_;
};

}  // namespace multicard
