#include "comm/BeatNumbers.hpp"

#include <mutex>

namespace multicard {

namespace {

/// There is one heartbeat in a process, and what it sends comes from whichever run trains here.
struct Beats {
  std::mutex mutex;
  BeatNumbers own{};
  std::map<int, BeatNumbers> heard;
};

Beats& beats() {
  static Beats instance;
  return instance;
}

}  // namespace

void set_beat_numbers(const BeatNumbers& numbers) {
  const std::lock_guard lock(beats().mutex);
  beats().own = numbers;
}

BeatNumbers own_beat_numbers() {
  const std::lock_guard lock(beats().mutex);
  return beats().own;
}

std::map<int, BeatNumbers> heard_beat_numbers() {
  const std::lock_guard lock(beats().mutex);
  return beats().heard;
}

void note_beat_numbers(int rank, const BeatNumbers& numbers) {
  const std::lock_guard lock(beats().mutex);
  beats().heard[rank] = numbers;
}

}  // namespace multicard
