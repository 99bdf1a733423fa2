#pragma once
/// \file Work cut into parts by its size alone, so that sums do not depend on the number of threads.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>

namespace multicard {

/// `count` items in at most 16 consecutive parts of at least `smallest` items.
class Partition {
 public:
  Partition(std::int64_t count, std::int64_t smallest)
      : count_(count), size_(std::max<std::int64_t>({1, smallest, (count + kMostParts - 1) / kMostParts})) {}

  std::int64_t num_parts() const { return (count_ + size_ - 1) / size_; }

  /// Calls body(part, first, end) for each part, in parallel.
  template <typename Body>
  void for_each(const Body& body) const {
    at::parallel_for(0, num_parts(), 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t part = from; part < to; ++part)
        body(part, part * size_, std::min(count_, (part + 1) * size_));
    });
  }

 private:
  static constexpr std::int64_t kMostParts = 16;
  std::int64_t count_, size_;
};

/// Calls body(first, rows) for consecutive blocks of [first, end) whose `row_bytes` per row fit the second-level cache.
template <typename Body>
void for_blocks(std::int64_t first, std::int64_t end, std::int64_t row_bytes, const Body& body) {
  constexpr std::int64_t kBytes = 384 << 10;
  const std::int64_t most = std::clamp<std::int64_t>(kBytes / row_bytes / 16 * 16, 32, 256);
  for (; first < end; first += most)
    body(first, std::min(most, end - first));
}

}  // namespace multicard
