#pragma once
/// \file Matrices of int4 weights with a scale for each group of a row: what 8da4w leaves of a weight.

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace multicard {

/// A matrix in int4. Groups of `group_size` values along a row, an even number that divides `columns`, share a scale;
/// an element is code * scale, in float32.
struct Int4Matrix {
  std::int64_t rows = 0, columns = 0, group_size = 0;
  at::Tensor
      packed;  ///< uint8 [rows, columns / 2]: codes from -8 to 7 in two's complement, even columns in high nibbles
  at::Tensor scales;  ///< float32 [rows, columns / group_size]

  /// In memory.
  std::int64_t bytes() const;
};

/// An empty one, on a device.
Int4Matrix empty_int4(std::int64_t rows, std::int64_t columns, std::int64_t group_size, at::Device device);

/// Of a matrix [rows, columns] of floating point on a CPU: its values are those that fake_int4() gives the matrix in
/// float32, bit for bit.
Int4Matrix quantise_int4(const at::Tensor& matrix, std::int64_t group_size);

/// Fills `values` [count, columns], contiguous, of any floating-point type, with the rows from `first` on: rounded to
/// float and then to that type.
void dequantise_int4(const Int4Matrix& matrix, std::int64_t first, const at::Tensor& values);
/// All of it.
at::Tensor dequantise_int4(const Int4Matrix& matrix, at::ScalarType dtype);

/// The tensors that torchao's Int8DynActInt4WeightLinear keeps of a matrix, on the CPU.
struct TorchaoInt4 {
  at::Tensor weight;         ///< int8 [rows, columns]: codes from -8 to 7
  at::Tensor scales, zeros;  ///< float32 [rows, columns / group_size]; zeros are 0
};
TorchaoInt4 torchao_of(const Int4Matrix& matrix);
/// \throws std::invalid_argument that says what is wrong for codes, zeros, shapes or types that int4 matrices of
/// kernels/FakeQuant.hpp cannot have
Int4Matrix int4_of(const TorchaoInt4& tensors);

}  // namespace multicard
