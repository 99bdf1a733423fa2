#pragma once
/// \file The grids of 8da4w quantisation (int8 activations, int4 weights), as torchao has them.

namespace multicard {

/// Codes of int4 weights. The scale of a group is the largest absolute value over kInt4Half, and at least
/// kInt4LeastScale: the smallest normal float (torchao 0.18; 0.10 had that of int8).
inline constexpr int kInt4Least = -8, kInt4Most = 7;
inline constexpr float kInt4Half = 7.5F, kInt4LeastScale = 1.17549435e-38F;

/// Codes of int8 activations. The scale of a token is its range, which includes 0, over kInt8Steps, and at least
/// kInt8LeastScale: 2^-23.
inline constexpr int kInt8Least = -128, kInt8Most = 127;
inline constexpr float kInt8Steps = 255, kInt8LeastScale = 1.1920929e-07F;

}  // namespace multicard
