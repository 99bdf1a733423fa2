#pragma once
/// \file How values lie in memory, and the type they are computed in.

#include <cstdint>

namespace multicard {

/// A bfloat16 as the kernels see it; the same bits as LibTorch's type, without its functions (see Vectors.hpp).
struct Bfloat16 {
  std::uint16_t bits;
};

/// A float16, likewise.
struct Float16 {
  std::uint16_t bits;
};

template <typename S>
struct ComputeType {
  using Type = S;
};
template <>
struct ComputeType<Bfloat16> {
  using Type = float;
};

template <>
struct ComputeType<Float16> {
  using Type = float;
};

/// What values of storage type S (float, double, Bfloat16, Float16) are computed in: float for those of 16 bits, else S
/// itself.
/// Parameters, their gradients and coefficients have this type. Storing rounds to nearest, ties to even.
template <typename S>
using Compute = typename ComputeType<S>::Type;

}  // namespace multicard
