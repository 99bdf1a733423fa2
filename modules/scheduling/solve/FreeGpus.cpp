#include "scheduling/solve/FreeGpus.hpp"

#include <algorithm>

namespace multicard {

FreeGpus::FreeGpus(const Machine& machine) : free_(static_cast<std::size_t>(machine.nodes)), count_(machine.gpus()) {
  for (int node = 0; node < machine.nodes; ++node)
    free_[static_cast<std::size_t>(node)] = machine.gpus_of(node);
}

void FreeGpus::take(const NodeShare& share) {
  free_[static_cast<std::size_t>(share.node)] -= share.gpus;
  count_ -= share.gpus;
}

void FreeGpus::take(const Placement& placement) {
  for (const NodeShare& share : placement)
    take(share);
}

void FreeGpus::give_back(const NodeShare& share) {
  take({share.node, -share.gpus});
}

Placement FreeGpus::take_widest(int gpus) {
  Placement taken;
  while (gpus > 0) {
    const auto widest = std::max_element(free_.begin(), free_.end());
    taken.push_back({static_cast<int>(widest - free_.begin()), std::min(*widest, gpus)});
    take(taken.back());
    gpus -= taken.back().gpus;
  }
  return taken;
}

// On the node that holds all of them and has the least left over, which keeps large gaps; where none does, all of the
// emptiest node and the rest in the same way.
Placement FreeGpus::take_tightest(int gpus) {
  Placement taken;
  while (gpus > 0) {
    auto best = std::max_element(free_.begin(), free_.end());
    for (auto node = free_.begin(); node != free_.end(); ++node)
      if (*node >= gpus && *node < *best) best = node;
    taken.push_back({static_cast<int>(best - free_.begin()), std::min(*best, gpus)});
    take(taken.back());
    gpus -= taken.back().gpus;
  }
  return taken;
}

}  // namespace multicard
