#pragma once
/// \file Meeting point of the ranks of a node, in memory they share; for modules/dist only.

#include <atomic>
#include <cstdint>

namespace multicard {

/// How long a rank that is early looks again before it sleeps. Threads that compute beside the wait want none.
enum class Patience { spin, sleep };

/// Lives in zeroed shared memory; the same object for all processes. A rank waits by looking a while (Patience::spin,
/// and never with more ranks than processors), then asleep in the kernel.
class NodeBarrier {
 public:
  /// Returns when `num_ranks` ranks have come. False when somebody called give_up().
  bool meet(int num_ranks, Patience patience);
  /// Wakes all that wait, now and in future, with false.
  void give_up();

 private:
  void sleep_until_not(std::uint32_t generation);

  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<std::uint32_t> given_up_{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a lock would not be shared between processes");

}  // namespace multicard
