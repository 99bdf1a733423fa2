#pragma once
// GCC's vector types for the kernels, as in Vectors.hpp, and values between them and memory of the same type.

#include <cstdint>

namespace multicard {
namespace {

// Bytes of a register. Vectors are no longer: of those that it must split, GCC 12 compares, selects and converts every
// lane by itself and keeps them in memory.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Values of type T in a register.
template <typename T>
constexpr int kWidth = kVectorBytes / sizeof(T);

template <typename T, int Lanes>
struct Vector {
  typedef T Type __attribute__((vector_size(Lanes * sizeof(T))));
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
