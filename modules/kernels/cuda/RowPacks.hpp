#pragma once
/// \file Rows as the GPU kernels compute them: a group of threads works on one row, a pack of values at a time. Plain
/// C++ where nvcc does not compile it, so that tests can run the same text with groups of threads of the CPU.
///
/// A Group has lane() and size(), and reduce(value, combine), which all its threads call together and which returns the
/// combination of their values to each of them; `combine` is associative and commutative. Values of storage type S
/// (float, c10::Half, c10::BFloat16) are computed in float. kWidth values are read and written at a time: sizes are
/// multiples of it, and unless it is 1 pointers are aligned to 16 bytes.

#include <array>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define MULTICARD_DEVICE __device__ __forceinline__
#define MULTICARD_UNROLL _Pragma("unroll")
#else
#define MULTICARD_DEVICE inline
#define MULTICARD_UNROLL
#endif

namespace multicard::rows {

#ifdef __CUDACC__
using Words = uint4;
// As one instruction: nvcc takes ordinary stores of 16 bytes apart.
MULTICARD_DEVICE void store_words(Words* to, const Words& words) {
  __stwb(to, words);
}
#else
using Words = std::array<std::uint32_t, 4>;
MULTICARD_DEVICE void store_words(Words* to, const Words& words) {
  *to = words;
}
#endif

/// Packs that a thread keeps of a row between two passes; what is beyond is read again.
constexpr int kKept = 2;

constexpr int kAlignment = 16;  // bytes

template <typename S, int kWidth>
struct alignas(sizeof(S) * kWidth < kAlignment ? sizeof(S) * kWidth : kAlignment) Pack {
  S values[kWidth];
};

template <int kWidth, typename S>
MULTICARD_DEVICE Pack<S, kWidth> load(const S* from) {
  return *reinterpret_cast<const Pack<S, kWidth>*>(from);
}

template <int kWidth, typename S>
MULTICARD_DEVICE void store(S* to, const Pack<S, kWidth>& pack) {
  if constexpr (kWidth == 1) {
    *to = pack.values[0];
  } else {
    static_assert(sizeof(pack) == sizeof(Words));
    Words words;
    std::memcpy(&words, &pack, sizeof(words));
    store_words(reinterpret_cast<Words*>(to), words);
  }
}

/// Calls body(at, slot) for the packs of this thread, at the values `at` and following. The first kKept have slots of
/// their own, all others kKept.
template <int kWidth, typename Group, typename Body>
MULTICARD_DEVICE void for_packs(const Group& group, std::int64_t size, const Body& body) {
  const std::int64_t step = static_cast<std::int64_t>(group.size()) * kWidth;
  std::int64_t at = static_cast<std::int64_t>(group.lane()) * kWidth;
  MULTICARD_UNROLL
  for (int slot = 0; slot < kKept; ++slot, at += step)
    if (at < size) body(at, slot);
  for (; at < size; at += step)
    body(at, kKept);
}

struct Sum {
  MULTICARD_DEVICE float operator()(float a, float b) const { return a + b; }
};

MULTICARD_DEVICE float larger(float a, float b) {
  return a > b ? a : b;
}

struct Larger {
  MULTICARD_DEVICE float operator()(float a, float b) const { return larger(a, b); }
};

}  // namespace multicard::rows
