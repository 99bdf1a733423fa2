#pragma once
// GCC's vector types for the kernels: one vector is a register of the instruction set. Everything is internal to the
// including source, which is compiled for one instruction set: no function compiled for one set can then stand in for
// that of another (hence no library templates here either).

#include <cstdint>

#include "kernels/Activation.hpp"
#include "kernels/cpu/Storage.hpp"
#include "kernels/cpu/VectorTypes.hpp"

#ifdef __F16C__
#include "kernels/cpu/HalfF16c.hpp"
#else
#include "kernels/cpu/HalfPortable.hpp"
#endif

namespace multicard {
namespace {

// A bfloat16 is the upper half of a float.
template <typename V>
MULTICARD_INLINE V load(const Bfloat16* from) {
  const auto bits = load<typename Bits<V>::Half>(&from->bits);
  return __builtin_bit_cast(V, converted<typename Bits<V>::Whole>(bits) << 16);
}

template <typename V>
MULTICARD_INLINE void store(Bfloat16* to, V value) {
  using Whole = typename Bits<V>::Whole;
  const Whole bits = __builtin_bit_cast(Whole, value), zero{}, quiet_nan = zero + 0x7fc0;
  const Whole rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  // Not equal to itself is what is no number. NOLINTNEXTLINE(misc-redundant-expression)
  store(&to->bits, converted<typename Bits<V>::Half>(value == value ? rounded : quiet_nan));
}

template <typename V>
MULTICARD_INLINE V load(const Float16* from) {
  return float_of_half<V>(load<typename Bits<V>::Half>(&from->bits));
}

template <typename V>
MULTICARD_INLINE void store(Float16* to, V value) {
  store(&to->bits, half_of_float(value));
}

// Asks for memory that a loop in order will read soon: the hardware's own prefetching stops at every 4 KiB.
template <typename T>
MULTICARD_INLINE void prefetch(const T* from) {
  __builtin_prefetch(reinterpret_cast<const char*>(from) + 2048);
}

template <int Lanes, typename V>
MULTICARD_INLINE double lane(const V& value, int i) {
  if constexpr (Lanes == 1)
    return value;
  else
    return value[i];
}

template <Activation Act, typename V, typename T>
MULTICARD_INLINE V activated(V z, T) {
  if constexpr (Act == Activation::relu6) {
    const V zero{}, six = zero + T(6);
    z = z < zero ? zero : z;
    return z > six ? six : z;
  } else {
    return z;
  }
}

template <Activation Act, typename V, typename T>
MULTICARD_INLINE V open_gradient(V dy, V z, T) {
  if constexpr (Act == Activation::relu6) {
    const V zero{}, six = zero + T(6);
    const V above = z > zero ? dy : zero;
    return z < six ? above : zero;
  } else {
    return dy;
  }
}

}  // namespace
}  // namespace multicard
