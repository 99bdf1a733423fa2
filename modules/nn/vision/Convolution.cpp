#include "nn/vision/Convolution.hpp"

#include <ATen/ops/conv2d.h>

#include "kernels/cpu/HalfMatmul.hpp"

namespace multicard {

at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight, const Convolution& convolution) {
  const std::int64_t padding = (convolution.kernel - 1) / 2;
  const auto convolved = [&](const at::Tensor& images, const at::Tensor& filters) {
    return at::conv2d(images, filters, {}, {convolution.stride, convolution.stride}, {padding, padding}, {1, 1},
                      convolution.groups);
  };
  return computes_half_on_cpu(x) ? rounded_to_half(convolved, x, weight) : convolved(x, weight);
}

}  // namespace multicard
