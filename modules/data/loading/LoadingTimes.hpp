#pragma once
/// \file What making batches takes, by stage.

#include <array>
#include <atomic>
#include <cstdint>

#include "base/Clock.hpp"

namespace multicard {

/// The stages of a batch on the host. Shards hold decoded pixels and token numbers: nothing is decoded here.
enum class LoadingStage : std::uint8_t {
  read,      ///< rows from shards, or from those that are kept in memory
  transform  ///< images: random crops, resizing, normalising; text: rows and targets of a batch
};
inline constexpr std::array<const char*, 2> kLoadingStages{"read", "transform"};

/// Seconds of threads, which work at the same time, and while training computes. Any thread adds.
class LoadingTimes {
 public:
  struct Total {
    std::int64_t count = 0, bytes = 0;
    double seconds = 0;
  };

  /// Work that began at `start` and ends now; time lines show it too.
  void add(LoadingStage stage, TimePoint start, std::int64_t bytes);
  Total total(LoadingStage stage) const {
    const Counters& counters = stages_[static_cast<std::size_t>(stage)];
    return {counters.count.load(), counters.bytes.load(), 1e-9 * static_cast<double>(counters.ns.load())};
  }

 private:
  struct Counters {
    std::atomic<std::int64_t> count{0}, bytes{0}, ns{0};
  };
  std::array<Counters, kLoadingStages.size()> stages_;
};

}  // namespace multicard
