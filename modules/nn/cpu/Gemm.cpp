#include "nn/cpu/Gemm.hpp"

// The BLAS inside LibTorch; its own header for these (ATen/native/CPUBlas.h) declares them without exporting them.
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

}  // namespace

// BLAS sees the transposed matrices, as it stores columns: c^T = b^T a^T.
template <typename T>
void multiply(const T* a, const T* b, std::int64_t rows, std::int64_t k, std::int64_t n, T beta, T* c) {
  const int columns = static_cast<int>(n), inner = static_cast<int>(k);
  gemm("N", columns, static_cast<int>(rows), inner, b, columns, a, inner, beta, c);
}

template <typename T>
void add_transposed_product(const T* a, const T* b, std::int64_t rows, std::int64_t m, std::int64_t n, T* c) {
  const int columns = static_cast<int>(n), height = static_cast<int>(m);
  gemm("T", columns, height, static_cast<int>(rows), b, columns, a, height, T(1), c);
}

template void multiply(const float*, const float*, std::int64_t, std::int64_t, std::int64_t, float, float*);
template void multiply(const double*, const double*, std::int64_t, std::int64_t, std::int64_t, double, double*);
template void add_transposed_product(const float*, const float*, std::int64_t, std::int64_t, std::int64_t, float*);
template void add_transposed_product(const double*, const double*, std::int64_t, std::int64_t, std::int64_t, double*);

}  // namespace multicard
