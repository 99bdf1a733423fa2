#include "dist/NodeBarrier.hpp"

#include <climits>
#include <ctime>

#include <immintrin.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace multicard {

namespace {

/// About 50 us: longer than a futex takes to wake a sleeper, so that near-simultaneous ranks never sleep.
constexpr int kLooks = 1000;
/// How often a sleeper checks whether it is still worth waiting.
constexpr timespec kNap{0, 50'000'000};

// Not the private futex that std::atomic::wait uses: the sleepers are other processes.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, expected, &kNap, nullptr, 0);
}
void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool more_ranks_than_processors(int num_ranks) {
  static const long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return num_ranks > processors;
}

}  // namespace

// A barrier with a generation counter. A rank reads the generation, then counts itself as arrived. The last one resets
// the count for the next round and only then increments the generation, which releases the others: none can arrive
// twice in one round. A rank that waits polls the generation, then sleeps on it by futex, which returns at once if the
// generation has changed meanwhile, so no wake-up is lost; sleepers_ only spares the system call when no rank sleeps,
// and the time-out of a sleep bounds what a race with it can cost. What a rank wrote before it arrived is visible to
// all ranks when they return. abort() is final: it wakes the sleepers, and waits that are not over, also later ones,
// return false.
bool NodeBarrier::arrive_and_wait(int num_ranks, WaitPolicy wait_policy) {
  const std::uint32_t generation = generation_.load();
  if (arrived_.fetch_add(1) + 1 == static_cast<std::uint32_t>(num_ranks)) {
    arrived_.store(0);
    generation_.store(generation + 1);
    if (sleepers_.load() > 0) futex_wake_all(generation_);
    return aborted_.load() == 0;
  }
  if (wait_policy == WaitPolicy::spin && !more_ranks_than_processors(num_ranks))
    for (int look = 0; look < kLooks && generation_.load(std::memory_order_acquire) == generation; ++look)
      _mm_pause();
  sleep_until_not(generation);
  return generation_.load() != generation;
}

void NodeBarrier::sleep_until_not(std::uint32_t generation) {
  while (generation_.load() == generation && aborted_.load() == 0) {
    sleepers_.fetch_add(1);
    futex_wait(generation_, generation);
    sleepers_.fetch_sub(1);
  }
}

void NodeBarrier::abort() {
  aborted_.store(1);
  futex_wake_all(generation_);
}

}  // namespace multicard
