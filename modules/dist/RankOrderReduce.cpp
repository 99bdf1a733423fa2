#include "dist/RankOrderReduce.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "dist/CommDtypeCodec.hpp"

namespace multicard {

namespace {

/// Small enough for the first-level cache together with one block of a source.
constexpr std::size_t kBlockBytes = 8192;

/// How many values a block has: as many as fit in float32 at the least.
template <class T>
constexpr std::size_t kBlock = kBlockBytes / std::max(sizeof(T), sizeof(float));

template <class T>
void add(T* __restrict sum, const T* __restrict values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    sum[i] += values[i];
}

/// Values as they are.
template <class T>
struct Exact {
  using Sum = T;
  void set(T* sum, const T* values, std::size_t count) { std::memcpy(sum, values, count * sizeof(T)); }
  void add_to(T* sum, const T* values, std::size_t count) { add(sum, values, count); }
  const T* finished(const T* sum, std::size_t) { return sum; }
};

/// Values and sum rounded to a 16-bit communication dtype.
class Rounded {
 public:
  using Sum = float;
  explicit Rounded(CommDtype comm_dtype) : codec_(codec_of(comm_dtype)) {}
  void set(float* sum, const float* values, std::size_t count) { codec_.round(values, sum, count); }
  void add_to(float* sum, const float* values, std::size_t count) {
    codec_.round(values, rounded_.data(), count);
    add(sum, rounded_.data(), count);
  }
  const float* finished(const float* sum, std::size_t count) {
    codec_.round(sum, rounded_.data(), count);
    return rounded_.data();
  }

 private:
  CommDtypeCodec codec_;
  alignas(64) std::array<float, kBlock<float>> rounded_;
};

/// bfloat16, added in float32.
class Widened {
 public:
  using Sum = float;
  void set(float* sum, const std::uint16_t* values, std::size_t count) { codec_.unpack(values, sum, count); }
  void add_to(float* sum, const std::uint16_t* values, std::size_t count) {
    codec_.unpack(values, wide_.data(), count);
    add(sum, wide_.data(), count);
  }
  const std::uint16_t* finished(const float* sum, std::size_t count) {
    codec_.pack(sum, words_.data(), count);
    return words_.data();
  }

 private:
  CommDtypeCodec codec_ = codec_of(CommDtype::bf16);
  alignas(64) std::array<float, kBlock<std::uint16_t>> wide_;
  alignas(64) std::array<std::uint16_t, kBlock<std::uint16_t>> words_;
};

template <class T, class Values>
void sum_blocks(std::span<std::byte* const> sources, std::span<std::byte* const> targets, std::size_t begin,
                std::size_t end, Values&& values) {
  alignas(64) std::array<typename std::remove_reference_t<Values>::Sum, kBlock<T>> sum;
  for (std::size_t first = begin; first < end; first += kBlock<T>) {
    const std::size_t count = std::min(kBlock<T>, end - first);
    // All sources of a block are read before any target is written, as a target may be a source.
    values.set(sum.data(), reinterpret_cast<const T*>(sources[0]) + first, count);
    for (const std::byte* source : sources.subspan(1))
      values.add_to(sum.data(), reinterpret_cast<const T*>(source) + first, count);
    const T* finished = values.finished(sum.data(), count);
    for (std::byte* target : targets)
      std::memcpy(reinterpret_cast<T*>(target) + first, finished, count * sizeof(T));
  }
}

}  // namespace

void reduce_in_rank_order(std::span<std::byte* const> sources, std::span<std::byte* const> targets, std::size_t begin,
                          std::size_t end, at::ScalarType type, CommDtype comm_dtype) {
  if (comm_dtype != CommDtype::same)
    sum_blocks<float>(sources, targets, begin, end, Rounded(comm_dtype));
  else if (type == at::kDouble)
    sum_blocks<double>(sources, targets, begin, end, Exact<double>());
  else if (type == at::kBFloat16)
    sum_blocks<std::uint16_t>(sources, targets, begin, end, Widened());
  else
    sum_blocks<float>(sources, targets, begin, end, Exact<float>());
}

}  // namespace multicard
