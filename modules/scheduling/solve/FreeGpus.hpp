#pragma once
/// \file Taking GPUs of a machine.

#include <vector>

#include "scheduling/rates/Machine.hpp"

namespace multicard {

/// The GPUs of a machine that no task has.
class FreeGpus {
 public:
  explicit FreeGpus(const Machine& machine);

  int count() const { return count_; }
  int of_node(int node) const { return free_[static_cast<std::size_t>(node)]; }
  void take(const NodeShare& share);
  void take(const Placement& placement);
  void give_back(const NodeShare& share);
  /// Takes GPUs from the node with the most free ones, then from the next; of equal ones the first.
  /// \pre gpus <= count()
  Placement take_widest(int gpus);
  /// Takes GPUs from as few nodes as possible: the last of them from the node where fewest are left over. The same.
  Placement take_tightest(int gpus);

 private:
  std::vector<int> free_;
  int count_;
};

}  // namespace multicard
