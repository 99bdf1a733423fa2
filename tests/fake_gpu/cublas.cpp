// libcublas.so.13: matrix products are counted by shape, with their floating-point operations.
#include <cstdio>

#include <cublas_v2.h>

#include "Fake.hpp"

namespace {

struct Handle {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
};

Handle* of(cublasHandle_t handle) {
  return reinterpret_cast<Handle*>(handle);
}

struct Product {
  cublasOperation_t a, b;
  long m, n, k, batch;
  int type;
};

cublasStatus_t multiply(const char* name, cublasHandle_t handle, const Product& p) {
  char text[160];
  std::snprintf(text, sizeof text, "%s %c%c m%ld n%ld k%ld x%ld type %d", name, "NTC"[p.a], "NTC"[p.b], p.m, p.n, p.k,
                p.batch, p.type);
  static fake::Counter& operations = fake::counter("total", "gemm_flops");
  operations.add(static_cast<std::uint64_t>(2 * p.m * p.n * p.k * p.batch));
  fake::launch(of(handle)->stream, fake::counter("gemm", text));
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

FAKE_API cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  FAKE_COUNT();
  *handle = reinterpret_cast<cublasHandle_t>(new Handle);
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete of(handle);
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  of(handle)->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = of(handle)->stream;
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  of(handle)->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = of(handle)->math;
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  of(handle)->mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode) {
  *mode = of(handle)->mode;
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n,
                                       int k, const float*, const float*, int, const float*, int, const float*, float*,
                                       int) {
  return multiply(__func__, handle, {a, b, m, n, k, 1, CUDA_R_32F});
}

FAKE_API cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n,
                                       int k, const double*, const double*, int, const double*, int, const double*,
                                       double*, int) {
  return multiply(__func__, handle, {a, b, m, n, k, 1, CUDA_R_64F});
}

FAKE_API cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b,
                                                  int m, int n, int k, const float*, const float*, int, long long,
                                                  const float*, int, long long, const float*, float*, int, long long,
                                                  int batch) {
  return multiply(__func__, handle, {a, b, m, n, k, batch, CUDA_R_32F});
}

FAKE_API cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b,
                                                  int m, int n, int k, const double*, const double*, int, long long,
                                                  const double*, int, long long, const double*, double*, int, long long,
                                                  int batch) {
  return multiply(__func__, handle, {a, b, m, n, k, batch, CUDA_R_64F});
}

FAKE_API cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n,
                                     int k, const void*, const void*, cudaDataType type, int, const void*, cudaDataType,
                                     int, const void*, void*, cudaDataType, int, cublasComputeType_t,
                                     cublasGemmAlgo_t) {
  return multiply(__func__, handle, {a, b, m, n, k, 1, type});
}

FAKE_API cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b,
                                                   int m, int n, int k, const void*, const void*, cudaDataType type,
                                                   int, long long, const void*, cudaDataType, int, long long,
                                                   const void*, void*, cudaDataType, int, long long, int batch,
                                                   cublasComputeType_t, cublasGemmAlgo_t) {
  return multiply(__func__, handle, {a, b, m, n, k, batch, type});
}
