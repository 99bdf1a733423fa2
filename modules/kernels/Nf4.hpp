#pragma once
/// \file Matrices of 4-bit normal floats in bitsandbytes' layout (Dettmers et al. 2023, arXiv 2305.14314).

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "kernels/Nf4Values.hpp"

namespace multicard {

inline constexpr std::int64_t kNf4NestedBlock = 256;  ///< scales that share a scale of their own

/// What the 8-bit codes of scales stand for: bitsandbytes' dynamic map.
const std::array<float, 256>& nf4_nested_values();

/// Whether scales are quantised too: 4.127 instead of 4.5 bits an element.
enum class DoubleQuantisation { off, on };

/// A matrix in NF4. Blocks of 64 elements, in row-major order, share a scale (their largest absolute value); the last
/// block may be short. An element is kNf4Values[code] * scale, in float32.
struct Nf4Matrix {
  std::int64_t rows = 0, columns = 0;
  at::Tensor packed;         ///< uint8 [ceil(elements / 2)]: even elements in high nibbles
  at::Tensor absmax;         ///< float32 [blocks]; uint8 [blocks] with double quantisation
  at::Tensor nested_absmax;  ///< float32 [ceil(blocks / 256)]; undefined without double quantisation
  float nested_offset = 0;   ///< scale = nf4_nested_values()[absmax] * nested_absmax + nested_offset

  bool is_nested() const { return nested_absmax.defined(); }
  std::int64_t num_elements() const { return rows * columns; }
  std::int64_t num_blocks() const { return (num_elements() + kNf4Block - 1) / kNf4Block; }
  /// In memory.
  std::int64_t bytes() const;
};

/// An empty one, on a device.
Nf4Matrix empty_nf4(std::int64_t rows, std::int64_t columns, DoubleQuantisation nested, at::Device device);

/// Of a matrix [rows, columns] of floating point on a CPU. As bitsandbytes' quantize_4bit of the matrix in float32:
/// packed bytes and scales bit for bit; 8-bit codes of scales the nearest ones, of which bitsandbytes' own differ by
/// one in rare cases.
Nf4Matrix quantise_nf4(const at::Tensor& matrix, DoubleQuantisation nested);

/// The scales in float32, [blocks].
at::Tensor nf4_scales(const Nf4Matrix& matrix);

/// Rows `first` to `first + count` as [count, columns] of `dtype`. `scales` are nf4_scales(). A row that does not start
/// with a block, or an end that does not end one, is for the whole matrix alone: \pre first * columns is a multiple of
/// kNf4Block.
at::Tensor dequantise_nf4(const Nf4Matrix& matrix, const at::Tensor& scales, std::int64_t first, std::int64_t count,
                          at::ScalarType dtype);
/// All of it.
at::Tensor dequantise_nf4(const Nf4Matrix& matrix, at::ScalarType dtype);

}  // namespace multicard
