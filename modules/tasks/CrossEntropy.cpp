#include "tasks/CrossEntropy.hpp"

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "data/TextLoader.hpp"

namespace multicard {

namespace {

/// The rows of a batch without the padding that only longer rows need.
TextInput input_of(const Batch& batch) {
  const std::int64_t width = width_of(batch.shapes);
  return {batch.inputs.narrow(1, 0, width), batch.targets.narrow(1, 0, width), batch.shapes};
}

}  // namespace

Loss CrossEntropy::forward(const Batch& batch) {
  network_.set_training(Mode::train);
  return {network_.loss_sum(input_of(batch)).div(static_cast<double>(batch.global_targets))};
}

std::int64_t CrossEntropy::computed_tokens(const Batch& batch) const {
  return batch.num_rows * width_of(batch.shapes);
}

at::Tensor CrossEntropy::test_sums(const Batch& part) {
  const at::NoGradGuard no_grad;
  network_.set_training(Mode::evaluate);
  return network_.loss_sum(input_of(part));
}

TextTotals CrossEntropy::totals(const std::vector<double>& sums, const RowCounts& counts) const {
  const double loss = sums.front() / static_cast<double>(counts.targets);
  return {loss, counts.sequences, counts.tokens, counts.targets, {{"perplexity", std::exp(loss)}}};
}

at::Tensor CrossEntropy::trial_loss(std::int64_t length) {
  network_.set_training(Mode::train);
  const at::Tensor ids = at::zeros({1, length}, at::TensorOptions().dtype(at::kLong).device(network_.device()));
  const std::vector<RowShape> shapes{{{length}, length}};
  return network_.loss_sum({ids, ids, shapes});
}

}  // namespace multicard
