#include "nn/Linear.hpp"

#include <ATen/ops/linear.h>

namespace multicard {

at::Tensor Linear::forward(const at::Tensor& x) const {
  return at::linear(x, weight.flatten(1), bias);
}

}  // namespace multicard
