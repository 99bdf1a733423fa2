#include "kernels/cpu/Gemm.hpp"

#include <algorithm>
#include <type_traits>

#include <ATen/native/CPUBlas.h>

// The BLAS inside LibTorch; ATen/native/CPUBlas.h declares wrappers of these that LibTorch does not export.
extern "C" {
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
}

namespace multicard {
namespace {

void gemm(const char* op_b, int m, int n, int k, const float* a, int lda, const float* b, int ldb, float beta,
          float* c) {
  const float one = 1;
  sgemm_("N", op_b, &m, &n, &k, &one, a, &lda, b, &ldb, &beta, c, &m);
}

void gemm(const char* op_b, int m, int n, int k, const double* a, int lda, const double* b, int ldb, double beta,
          double* c) {
  const double one = 1;
  dgemm_("N", op_b, &m, &n, &k, &one, a, &lda, b, &ldb, &beta, c, &m);
}

void brgemm(const float* a, const float* b, std::int64_t rows, std::int64_t k, std::int64_t n, Accumulate accumulate,
            float* c) {
  // oneDNN's batch-reduce kernel with a batch of one: it generates code for the shape once and keeps it.
  at::native::cpublas::brgemm(rows, n, k, k, n, n, accumulate == Accumulate::yes, a, b, c, /*is_vnni=*/false);
}

}  // namespace

GemmLibrary gemm_library() {
  static const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  static const GemmLibrary library = has_avx512 && !__builtin_cpu_is("intel") ? GemmLibrary::onednn : GemmLibrary::blas;
  return library;
}

// BLAS sees the transposed matrices, as it stores columns: c^T = b^T a^T.
template <typename T>
void multiply(const T* a, const T* b, std::int64_t rows, std::int64_t k, std::int64_t n, Accumulate accumulate, T* c,
              GemmLibrary library) {
  if constexpr (std::is_same_v<T, float>)
    if (library == GemmLibrary::onednn) return brgemm(a, b, rows, k, n, accumulate, c);
  // BLAS counts in ints, which blocks that fit into the cache never exceed.
  const int columns = static_cast<int>(n), inner = static_cast<int>(k);
  gemm("N", columns, static_cast<int>(rows), inner, b, columns, a, inner, T(accumulate == Accumulate::yes ? 1 : 0), c);
}

template <typename T>
void add_transposed_matmul(const T* a, const T* b, std::int64_t rows, std::int64_t m, std::int64_t n, T* c) {
  const int columns = static_cast<int>(n), height = static_cast<int>(m);
  gemm("T", columns, height, static_cast<int>(rows), b, columns, a, height, T(1), c);
}

template <typename T>
void transpose(const T* a, std::int64_t rows, std::int64_t columns, T* out) {
  constexpr std::int64_t kBlock = 64 / sizeof(T);  // rows and columns of a block fill whole cache lines
  for (std::int64_t row = 0; row < rows; row += kBlock)
    for (std::int64_t column = 0; column < columns; column += kBlock)
      for (std::int64_t j = column; j < std::min(columns, column + kBlock); ++j)
        for (std::int64_t i = row; i < std::min(rows, row + kBlock); ++i)
          out[j * rows + i] = a[i * columns + j];
}

template void multiply(const float*, const float*, std::int64_t, std::int64_t, std::int64_t, Accumulate, float*,
                       GemmLibrary);
template void multiply(const double*, const double*, std::int64_t, std::int64_t, std::int64_t, Accumulate, double*,
                       GemmLibrary);
template void add_transposed_matmul(const float*, const float*, std::int64_t, std::int64_t, std::int64_t, float*);
template void add_transposed_matmul(const double*, const double*, std::int64_t, std::int64_t, std::int64_t, double*);
template void transpose(const float*, std::int64_t, std::int64_t, float*);
template void transpose(const double*, std::int64_t, std::int64_t, double*);
template void transpose(const Bfloat16*, std::int64_t, std::int64_t, Bfloat16*);
template void transpose(const Float16*, std::int64_t, std::int64_t, Float16*);

}  // namespace multicard
