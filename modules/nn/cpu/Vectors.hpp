#pragma once
// GCC's vector types for the kernels: one vector is 64 bytes, which the compiler splits where the instruction set has
// shorter ones. Everything is internal to the including source, which is compiled for one instruction set: no function
// compiled for one set can then stand in for that of another (hence no library templates here either).

#include <cstdint>

#include "nn/Activation.hpp"
#include "nn/cpu/Storage.hpp"

namespace multicard {
namespace {

template <typename T, int Lanes>
struct Vector;
template <>
struct Vector<float, 16> {
  typedef float Type __attribute__((vector_size(64)));
};
template <>
struct Vector<float, 8> {
  typedef float Type __attribute__((vector_size(32)));
};
template <>
struct Vector<double, 8> {
  typedef double Type __attribute__((vector_size(64)));
};
template <typename T>
struct Vector<T, 1> {
  typedef T Type;
};

#define MULTICARD_INLINE_BODY __attribute__((always_inline))
#define MULTICARD_INLINE inline MULTICARD_INLINE_BODY

template <typename V, typename T>
MULTICARD_INLINE V load(const T* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof(V));
  return value;
}

template <typename V, typename T>
MULTICARD_INLINE void store(T* to, V value) {
  __builtin_memcpy(to, &value, sizeof(V));
}

// Unsigned integers of the size of a float vector's (or single float's) lanes, and of half that.
template <typename V>
struct Bits {
  typedef std::uint32_t Whole __attribute__((vector_size(sizeof(V))));
  typedef std::uint16_t Half __attribute__((vector_size(sizeof(V) / 2)));
};
template <>
struct Bits<float> {
  typedef std::uint32_t Whole;
  typedef std::uint16_t Half;
};

template <typename Out, typename In>
MULTICARD_INLINE Out converted(In value) {
  if constexpr (sizeof(In) <= sizeof(std::uint32_t))
    return static_cast<Out>(value);
  else
    return __builtin_convertvector(value, Out);
}

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
  store(&to->bits, converted<typename Bits<V>::Half>(value == value ? rounded : quiet_nan));
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
