#pragma once
/// \file Barrier of the ranks of a node, in memory they share; for modules/dist only.

#include <atomic>
#include <cstdint>

namespace multicard {

/// Whether a rank that is early polls for a while before it sleeps; not next to threads that compute.
enum class WaitPolicy { spin, sleep };

/// Lives in zeroed shared memory; the same object for all processes. A rank waits by looking a while (WaitPolicy::spin,
/// and never with more ranks than processors), then asleep in the kernel.
class NodeBarrier {
 public:
  /// Returns when `num_ranks` ranks have arrived. False when a rank has called abort().
  bool arrive_and_wait(int num_ranks, WaitPolicy wait_policy);
  /// Wakes all that wait, now and in future, with false.
  void abort();

 private:
  void sleep_until_not(std::uint32_t generation);

  alignas(64) std::atomic<std::uint32_t> arrived_{0};
  alignas(64) std::atomic<std::uint32_t> generation_{0};
  std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<std::uint32_t> aborted_{0};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "a lock would not be shared between processes");

}  // namespace multicard
