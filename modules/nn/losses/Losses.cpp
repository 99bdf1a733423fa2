#include "nn/losses/Losses.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/zeros.h>

namespace multicard {

// Not the mean of these rows: replicas and micro-batches with fewer rows would weigh more in the sum.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, std::int64_t global_rows,
                         double label_smoothing) {
  const at::ScalarType dtype = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor sum = at::cross_entropy_loss(logits.to(dtype), labels, {}, at::Reduction::Sum,
                                                /*ignore_index=*/-100, label_smoothing);
  return sum / static_cast<double>(global_rows);
}

at::Tensor num_correct(const at::Tensor& logits, const at::Tensor& labels) {
  if (logits.size(0) == 0) return at::zeros({}, labels.options());
  return (logits.argmax(1) == labels).sum();
}

// Counts what goes before the label's logit. The negated comparison counts a NaN too, and everything where the label's
// own logit is NaN; a sort would cost more and leave equal logits in any order.
at::Tensor num_correct_in_top(const at::Tensor& logits, const at::Tensor& labels, std::int64_t k) {
  const at::Tensor column = labels.unsqueeze(1), of_label = logits.gather(1, column);
  const at::Tensor before = (logits <= of_label).logical_not() |
                            ((logits == of_label) & (at::arange(logits.size(1), labels.options()) < column));
  return ((before.sum(1) < k) | (logits.size(1) <= k)).sum();
}

}  // namespace multicard
