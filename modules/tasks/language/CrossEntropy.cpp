#include "tasks/language/CrossEntropy.hpp"

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "data/loading/TextLoader.hpp"
#include "nn/layers/BlockHooks.hpp"
#include "nn/layers/Random.hpp"

namespace multicard {

namespace {

/// The rows of a batch without the padding that only longer rows need.
/// Rows of a global batch are padded to its longest row; a micro-batch, or the rows of one rank, may all be shorter.
TextInput input_of(const Batch& batch) {
  const std::int64_t width = width_of(batch.shapes);
  return {batch.inputs.narrow(1, 0, width), batch.targets.narrow(1, 0, width), batch.shapes};
}

/// Of the rows, whichever rank and micro-batch has them.
/// The seed is a function of run, step and row number alone, so that NEFTune's noise (EmbeddingNoise) does not change
/// with the number of ranks or the micro-batch.
std::vector<std::uint64_t> noise_seeds(const Batch& batch, std::uint64_t seed) {
  constexpr std::uint64_t kNoise = 0x6e6f697365;  // apart from what else is drawn with the run's seed
  const std::uint64_t of_step = seed_of_stream(seed_of_stream(seed, kNoise), static_cast<std::uint64_t>(batch.step));
  std::vector<std::uint64_t> seeds;
  for (const std::int64_t row : batch.row_numbers)
    seeds.push_back(seed_of_stream(of_step, static_cast<std::uint64_t>(row)));
  return seeds;
}

}  // namespace

Loss CrossEntropy::forward(const Batch& batch) {
  network_.set_training(Mode::train);
  TextInput input = input_of(batch);
  const std::vector<std::uint64_t> seeds = noise_alpha_ > 0 ? noise_seeds(batch, seed_) : std::vector<std::uint64_t>();
  input.noise = {noise_alpha_, seeds};
  // Divided by the targets of the global batch: gradients of micro-batches and ranks then add up to the mean over all
  // targets, also where rows have different numbers of them.
  return {network_.loss_sum(input).div(static_cast<double>(batch.global_targets))};
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

at::Tensor CrossEntropy::idle_loss() {
  return network_.block_hooks()->idle_loss();
}

at::Tensor CrossEntropy::trial_loss(std::int64_t length) {
  network_.set_training(Mode::train);
  const at::Tensor ids = at::zeros({1, length}, at::TensorOptions().dtype(at::kLong).device(network_.device()));
  const std::vector<RowShape> shapes{{{length}, length}};
  const std::uint64_t seed = 0;
  return network_.loss_sum({ids, ids, shapes, {noise_alpha_, {&seed, 1}}});
}

}  // namespace multicard
