#include "memory/MeasuredGradients.hpp"

#include <algorithm>
#include <set>

#include <ATen/ops/zeros_like.h>

#include "dist/SplitParameters.hpp"

namespace multicard {

NamedTensors make_gradients(Model& model) {
  std::set<const at::TensorImpl*> in_parts;
  if (SplitParameters* const parts = model.split_parameters()) in_parts = members_of(parts->rows());
  NamedTensors whole = model.parameters();
  std::erase_if(whole, [&](const NamedTensor& one) { return in_parts.contains(one.tensor.unsafeGetTensorImpl()); });
  for (const NamedTensor& parameter : whole)
    at::Tensor(parameter.tensor).mutable_grad() = at::zeros_like(parameter.tensor);
  return whole;
}

Backward measured_backward(Model& model) {
  return [&model](const at::Tensor& loss) {
    loss.backward();
    if (SplitParameters* const parts = model.split_parameters()) parts->zero_gradients();
  };
}

std::int64_t largest_of(const NamedTensors& tensors, std::int64_t most_dimensions) {
  std::int64_t largest = 0;
  for (const NamedTensor& one : tensors)
    if (one.tensor.dim() <= most_dimensions)
      largest = std::max(largest, static_cast<std::int64_t>(one.tensor.nbytes()));
  return largest;
}

}  // namespace multicard
