#include "dist/RankOrderSum.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace multicard {

namespace {

/// Small enough for the first-level cache together with one block of a source.
constexpr std::size_t kBlockBytes = 8192;

template <class T>
void add(T* __restrict sum, const T* __restrict values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    sum[i] += values[i];
}

template <class T>
void sum_blocks(std::span<std::byte* const> sources, std::span<std::byte* const> targets, std::size_t begin,
                std::size_t end) {
  constexpr std::size_t kBlock = kBlockBytes / sizeof(T);
  alignas(64) std::array<T, kBlock> sum;
  for (std::size_t first = begin; first < end; first += kBlock) {
    const std::size_t count = std::min(kBlock, end - first);
    std::memcpy(sum.data(), reinterpret_cast<const T*>(sources[0]) + first, count * sizeof(T));
    for (const std::byte* source : sources.subspan(1))
      add(sum.data(), reinterpret_cast<const T*>(source) + first, count);
    for (std::byte* target : targets)
      std::memcpy(reinterpret_cast<T*>(target) + first, sum.data(), count * sizeof(T));
  }
}

}  // namespace

void sum_in_rank_order(std::span<std::byte* const> sources, std::span<std::byte* const> targets, std::size_t begin,
                       std::size_t end, at::ScalarType type) {
  if (type == at::kDouble)
    sum_blocks<double>(sources, targets, begin, end);
  else
    sum_blocks<float>(sources, targets, begin, end);
}

}  // namespace multicard
