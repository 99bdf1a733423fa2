#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "kernels/cuda/CudaFakeQuant.hpp"
#include "kernels/cuda/FakeQuantLaunch.hpp"

namespace multicard {
namespace {

/// Calls body.operator()<S>(stream) with the type of x, on its device, and throws what a launch returns.
template <typename Body>
void with_type(const at::Tensor& x, const Body& body) {
  const c10::cuda::CUDAGuard guard(x.device());
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(x.device().index());
  if (x.scalar_type() == at::kHalf)
    C10_CUDA_CHECK(body.template operator()<c10::Half>(stream));
  else if (x.scalar_type() == at::kBFloat16)
    C10_CUDA_CHECK(body.template operator()<c10::BFloat16>(stream));
  else
    C10_CUDA_CHECK(body.template operator()<float>(stream));
}

}  // namespace

bool has_cuda_fake_quant(const at::Tensor& x) {
  const at::ScalarType dtype = x.scalar_type();
  return x.is_cuda() && (dtype == at::kFloat || dtype == at::kHalf || dtype == at::kBFloat16);
}

at::Tensor cuda_fake_int4(const at::Tensor& weight, std::int64_t group_size) {
  at::Tensor y = at::empty_like(weight);
  with_type(weight, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_fake_int4(weight.const_data_ptr<S>(), weight.numel() / group_size, group_size,
                                  y.mutable_data_ptr<S>(), stream);
  });
  return y;
}

void cuda_fake_int4_gradient(const at::Tensor& weight, std::int64_t group_size, const at::Tensor& gradient) {
  with_type(weight, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_fake_int4_gradient(weight.const_data_ptr<S>(), weight.numel() / group_size, group_size,
                                           gradient.mutable_data_ptr<S>(), stream);
  });
}

at::Tensor cuda_fake_int8(const at::Tensor& x) {
  at::Tensor y = at::empty_like(x);
  with_type(x, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_fake_int8(x.const_data_ptr<S>(), x.size(0), x.size(1), y.mutable_data_ptr<S>(), stream);
  });
  return y;
}

void cuda_fake_int8_gradient(const at::Tensor& x, const at::Tensor& gradient) {
  with_type(x, [&]<typename S>(cudaStream_t stream) {
    return rows::launch_fake_int8_gradient(x.const_data_ptr<S>(), x.size(0), x.size(1), gradient.mutable_data_ptr<S>(),
                                           stream);
  });
}

}  // namespace multicard
