#include <ATen/ops/empty_like.h>

#include "kernels/cuda/CudaFakeQuant.hpp"
#include "kernels/cuda/FakeQuantLaunch.hpp"
#include "kernels/cuda/WithType.hpp"

namespace multicard {

bool has_cuda_fake_quant(const at::Tensor& x) {
  return x.is_cuda() && is_type_of_kernels(x.scalar_type());
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
