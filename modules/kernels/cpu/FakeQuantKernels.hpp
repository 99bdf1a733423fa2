#pragma once
/// \file The innermost loops of fake quantisation and of packed int4 weights, compiled once for each instruction set.

#include <cstdint>

#include "kernels/cpu/Storage.hpp"

namespace multicard {

/// The formulas are those of kernels/FakeQuant.hpp. Groups of `size` weights are contiguous, so are tokens of
/// `size` activations; values are computed in Compute<S>.
template <typename S>
struct FakeQuantKernels {
  using C = Compute<S>;

  /// y = weights as int4 stands for them, in S or in what is computed in.
  /// @{
  void (*int4)(const S* weights, std::int64_t groups, std::int64_t size, S* y);
  void (*int4_wide)(const S* weights, std::int64_t groups, std::int64_t size, C* y);
  /// @}
  /// Makes the gradient of y that of the weights, in place.
  void (*int4_gradient)(const S* weights, std::int64_t groups, std::int64_t size, S* gradient);
  /// Codes, two to a byte (the even one in the high nibble, in two's complement; `size` is even), and scales [groups].
  void (*int4_codes)(const S* weights, std::int64_t groups, std::int64_t size, std::uint8_t* packed, float* scales);
  /// Their values.
  void (*int4_values)(const std::uint8_t* packed, const float* scales, std::int64_t groups, std::int64_t size, S* y);

  /// y = activations as int8 stands for them.
  void (*int8)(const S* x, std::int64_t tokens, std::int64_t size, S* y);
  /// Makes the gradient of y that of x, in place.
  void (*int8_gradient)(const S* x, std::int64_t tokens, std::int64_t size, S* gradient);
};

/// The kernels for the instruction set of this CPU.
template <typename S>
const FakeQuantKernels<S>& fake_quant_kernels();

}  // namespace multicard
