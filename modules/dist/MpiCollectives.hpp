#pragma once
/// \file Collectives on host tensors over MPI and shared memory; for modules/dist and its tests only.

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "comm/Communicator.hpp"
#include "dist/CommStats.hpp"
#include "dist/CommThread.hpp"
#include "dist/HostCopies.hpp"
#include "dist/NodeAllReduce.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Sums started run one after the other on a communication thread; small sums and the other operations run on the
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
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                    int root) override;
  std::map<std::string, CommunicationTotals> totals() override { return stats_.totals(); }
  ReceivedByRank received() const override { return large_.received(); }

 private:
  class HostWork;
  ReduceOperand operand(const at::Tensor& flat) const;
  /// Runs an operation on this thread, which waits all the time. \param operation returns how long for other ranks
  template <class Operation>
  void run_here(CollectiveKind kind, std::int64_t bytes, const char* name, const Operation& operation);

  Communicator communicator_;
  NodeAllReduce large_;
  SmallAllReduce small_;
  HostCopies copies_;
  struct NumberedMemory {
    std::size_t number;  ///< equal on all ranks, as they allocate in the same order
    std::weak_ptr<SharedMemory> memory;
  };
  std::vector<NumberedMemory> memories_;  ///< those of tensors that are gone leave with the next allocation
  std::size_t num_allocated_ = 0;
  std::int64_t num_large_ = 0, num_here_ = 0;  ///< operations so far on either thread: equal on all ranks
  CommStats stats_;
  CommThread thread_;
};

}  // namespace multicard
