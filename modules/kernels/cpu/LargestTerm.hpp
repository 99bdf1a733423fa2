#pragma once
// The largest of many numbers, a vector at a time; see Vectors.hpp for who may include this.

#include "kernels/cpu/Vectors.hpp"

namespace multicard {
namespace {

template <typename T>
MULTICARD_INLINE T larger(T a, T b) {
  return a > b ? a : b;
}

// The largest of combine(most, term<Lanes>(i)), and of `start`.
template <typename T, typename Term>
MULTICARD_INLINE T largest_term(std::int64_t size, T start, Term term) {
  constexpr int kWide = kWidth<T>;
  using V = typename Vector<T, kWide>::Type;
  V most = V{} + start;
  std::int64_t i = 0;
  for (; i + kWide <= size; i += kWide) {
    const V value = term.template operator()<kWide>(i);
    most = value > most ? value : most;
  }
  T largest = start;
  for (int k = 0; k < kWide; ++k)
    largest = larger<T>(most[k], largest);
  for (; i < size; ++i)
    largest = larger<T>(term.template operator()<1>(i), largest);
  return largest;
}

}  // namespace
}  // namespace multicard
