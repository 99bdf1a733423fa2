#pragma once
// GCC's vector types for the kernels, as in Vectors.hpp, and values between them and memory of the same type.

#include <cstdint>

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

}  // namespace
}  // namespace multicard
