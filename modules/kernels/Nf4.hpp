#pragma once
/// \file Matrices of 4-bit normal floats in bitsandbytes' layout (Dettmers et al. 2023, arXiv 2305.14314).

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "kernels/Nf4Values.hpp"
#include "kernels/WeightFormat.hpp"

namespace multicard {

/// A matrix in NF4. Blocks of 64 elements, in row-major order, share a scale (their largest absolute value); the last
/// block may be short. An element is kNf4Values[code] * scale, in float32.
struct Nf4Matrix {
  std::int64_t rows = 0, columns = 0;
  at::Tensor packed;         ///< uint8 [ceil(elements / 2)]: even elements in high nibbles
  at::Tensor absmax;         ///< float32 [blocks]; uint8 [blocks] with double quantisation
  at::Tensor nested_absmax;  ///< float32 [ceil(blocks / 256)]; undefined without double quantisation
  float nested_offset = 0;   ///< scale = signed_dynamic_map().values[absmax] * nested_absmax + nested_offset

  bool is_nested() const { return nested_absmax.defined(); }
  std::int64_t num_elements() const { return rows * columns; }
  std::int64_t num_blocks() const { return (num_elements() + kNf4Block - 1) / kNf4Block; }
  /// In memory.
  std::int64_t bytes() const;
};

/// An empty one, on a device.
Nf4Matrix empty_nf4(std::int64_t rows, std::int64_t columns, DoubleQuantisation nested, at::Device device);

/// Of a matrix [rows, columns] of floating point on a CPU: bit for bit what bitsandbytes' quantize_4bit makes of the
/// matrix in float32, but for the rounding of nested_offset, a mean.
Nf4Matrix quantise_nf4(const at::Tensor& matrix, DoubleQuantisation nested);

/// The scales in float32, [blocks], on the matrix's device.
at::Tensor nf4_scales(const Nf4Matrix& matrix);

/// Rows of a matrix, of which the first begins with a block: first * columns is a multiple of kNf4Block.
struct Nf4Rows {
  const Nf4Matrix* matrix;
  std::int64_t first;
  at::Tensor values;  ///< [count, columns], contiguous, of any floating-point type: to be filled with theirs
};

/// Fills the values, which have one type. On a GPU that is one launch for those of a few matrices.
void dequantise_nf4(std::span<const Nf4Rows> rows);
/// Of one matrix.
void dequantise_nf4(const Nf4Matrix& matrix, std::int64_t first, const at::Tensor& values);
/// All of it.
at::Tensor dequantise_nf4(const Nf4Matrix& matrix, at::ScalarType dtype);

}  // namespace multicard
