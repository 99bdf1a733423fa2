#pragma once
/// \file Matmuls of row-major matrices without gaps on the CPU, in the calling thread when inside at::parallel_for.

#include <cstdint>

#include "kernels/cpu/Storage.hpp"

namespace multicard {

/// Whose float32 products compute: the BLAS of LibTorch (MKL), or oneDNN, also inside LibTorch. MKL uses AVX-512 on
/// Intel CPUs only; oneDNN does wherever it exists and is then about twice as fast.
enum class GemmLibrary { blas, onednn };

/// The faster one on this CPU.
GemmLibrary gemm_library();

/// Whether c starts from zero (and may be uninitialised) or keeps its values.
enum class Accumulate { no, yes };

/// c [rows, n] = a [rows, k] b [k, n], plus c as it was with Accumulate::yes. `library` matters for float32 only.
template <typename T>
void multiply(const T* a, const T* b, std::int64_t rows, std::int64_t k, std::int64_t n, Accumulate accumulate, T* c,
              GemmLibrary library = gemm_library());

/// c [m, n] += a^T b with a [rows, m] and b [rows, n].
template <typename T>
void add_transposed_matmul(const T* a, const T* b, std::int64_t rows, std::int64_t m, std::int64_t n, T* c);

/// out [columns, rows] = a^T with a [rows, columns].
template <typename T>
void transpose(const T* a, std::int64_t rows, std::int64_t columns, T* out);

}  // namespace multicard
