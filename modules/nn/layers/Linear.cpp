#include "nn/layers/Linear.hpp"

#include <ATen/ops/linear.h>

#include "kernels/cpu/HalfMatmul.hpp"

namespace multicard {

at::Tensor Linear::forward(const at::Tensor& x) const {
  const auto linear = [](const at::Tensor& values, const at::Tensor& matrix, const at::Tensor& offset) {
    return at::linear(values, matrix, offset);
  };
  // Squeeze-and-excitation layers are 1x1 convolutions in torchvision's files.
  const at::Tensor matrix = weight.flatten(1);
  return computes_half_on_cpu(x) ? rounded_to_half(linear, x, matrix, bias) : linear(x, matrix, bias);
}

}  // namespace multicard
