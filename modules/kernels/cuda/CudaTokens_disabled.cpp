#include <stdexcept>

#include "kernels/cuda/CudaTokens.hpp"

namespace multicard {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("this program was built without CUDA kernels of its own");
}

}  // namespace

bool has_cuda_token_kernels(const at::Tensor&) {
  return false;
}

CudaNormed cuda_add_norm(const at::Tensor&, const at::Tensor&, const at::Tensor&, double) {
  refuse();
}

at::Tensor cuda_norm_gradient(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                              const at::Tensor&) {
  refuse();
}

at::Tensor cuda_norm_weight_gradient(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  refuse();
}

at::Tensor cuda_swiglu(const at::Tensor&) {
  refuse();
}

at::Tensor cuda_swiglu_gradient(const at::Tensor&, const at::Tensor&) {
  refuse();
}

void cuda_rope(const at::Tensor&, const at::Tensor&, const at::Tensor&, double) {
  refuse();
}

at::Tensor cuda_softmax_loss(const at::Tensor&, const at::Tensor&, LogitGradient) {
  refuse();
}

at::Tensor cuda_dropout(const at::Tensor&, std::uint64_t, std::uint64_t, double) {
  refuse();
}

}  // namespace multicard
