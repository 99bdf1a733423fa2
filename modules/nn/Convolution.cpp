#include "nn/Convolution.hpp"

#include <ATen/ops/conv2d.h>

namespace multicard {

at::Tensor convolve(const at::Tensor& x, const at::Tensor& weight, const Convolution& convolution) {
  const std::int64_t padding = (convolution.kernel - 1) / 2;
  return at::conv2d(x, weight, {}, {convolution.stride, convolution.stride}, {padding, padding}, {1, 1},
                    convolution.groups);
}

}  // namespace multicard
