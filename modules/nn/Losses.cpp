#include "nn/Losses.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/zeros.h>

namespace multicard {

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, std::int64_t global_rows) {
  const at::ScalarType dtype = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor sum = at::cross_entropy_loss(logits.to(dtype), labels, {}, at::Reduction::Sum);
  return sum / static_cast<double>(global_rows);
}

at::Tensor num_correct(const at::Tensor& logits, const at::Tensor& labels) {
  if (logits.size(0) == 0) return at::zeros({}, labels.options());
  return (logits.argmax(1) == labels).sum();
}

}  // namespace multicard
