#include <stdexcept>

#include "kernels/cuda/CudaQuant.hpp"

namespace multicard {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("this program was built without CUDA kernels of its own");
}

}  // namespace

bool has_cuda_quant(const at::Tensor&) {
  return false;
}

void cuda_dequantise_nf4(std::span<const Nf4Rows>) {
  refuse();
}

void cuda_dequantise_int4(const Int4Matrix&, std::int64_t, const at::Tensor&) {
  refuse();
}

}  // namespace multicard
