// libcublasLt.so.13: products with an epilogue (a linear layer's bias) are counted by shape.
#include <cstdio>
#include <cstring>

#include <cublasLt.h>

#include "Fake.hpp"

namespace {

struct Layout {
  cudaDataType type;
  std::uint64_t rows, columns;
  std::int32_t batch = 1;
};

struct Description {
  std::int32_t a = CUBLAS_OP_N, b = CUBLAS_OP_N, epilogue = CUBLASLT_EPILOGUE_DEFAULT;
};

Layout* of(cublasLtMatrixLayout_t layout) {
  return reinterpret_cast<Layout*>(layout);
}

Description* of(cublasLtMatmulDesc_t description) {
  return reinterpret_cast<Description*>(description);
}

}  // namespace

FAKE_API size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}

FAKE_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description, cublasComputeType_t,
                                                 cudaDataType_t) {
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(new Description);
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete of(description);
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                                       cublasLtMatmulDescAttributes_t key, const void* value, size_t) {
  Description& one = *of(description);
  std::int32_t* const kept = key == CUBLASLT_MATMUL_DESC_TRANSA     ? &one.a
                             : key == CUBLASLT_MATMUL_DESC_TRANSB   ? &one.b
                             : key == CUBLASLT_MATMUL_DESC_EPILOGUE ? &one.epilogue
                                                                    : nullptr;
  if (kept) std::memcpy(kept, value, sizeof *kept);
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t rows,
                                                   uint64_t columns, int64_t) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Layout{type, rows, columns});
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete of(layout);
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                         cublasLtMatrixLayoutAttribute_t key, const void* value,
                                                         size_t) {
  if (key == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) std::memcpy(&of(layout)->batch, value, sizeof(std::int32_t));
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  static char any;
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(&any);
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                             cublasLtMatmulPreferenceAttributes_t, const void*,
                                                             size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                       cublasLtMatrixLayout_t, cublasLtMatmulPreference_t,
                                                       int requested, cublasLtMatmulHeuristicResult_t* results,
                                                       int* number) {
  *number = requested > 0 ? 1 : 0;
  if (requested == 0) return CUBLAS_STATUS_SUCCESS;
  *results = {};
  results->state = CUBLAS_STATUS_SUCCESS;
  results->wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

FAKE_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void*, const void*,
                                       cublasLtMatrixLayout_t a_layout, const void*, cublasLtMatrixLayout_t,
                                       const void*, const void*, cublasLtMatrixLayout_t, void*,
                                       cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*, size_t,
                                       cudaStream_t stream) {
  const Description& one = *of(description);
  const Layout &a = *of(a_layout), &d = *of(d_layout);
  const std::uint64_t k = one.a == CUBLAS_OP_N ? a.columns : a.rows;
  char text[160];
  std::snprintf(text, sizeof text, "cublasLtMatmul %c%c m%lu n%lu k%lu x%d type %d epilogue %d", "NTC"[one.a],
                "NTC"[one.b], d.rows, d.columns, k, d.batch, a.type, one.epilogue);
  static fake::Counter& operations = fake::counter("total", "gemm_flops");
  operations.add(2 * d.rows * d.columns * k * static_cast<std::uint64_t>(d.batch));
  fake::launch(stream, fake::counter("gemm", text));
  return CUBLAS_STATUS_SUCCESS;
}
