// What a language model computes, and what that takes.

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "data/TextLoader.hpp"
#include "device/AllocationRecorder.hpp"
#include "device/Readback.hpp"
#include "tasks/LanguageModel.hpp"

namespace multicard {

namespace {

constexpr const char* kTokens = "tokens";
constexpr const char* kTrainedTokens = "trained_tokens";
constexpr const char* kComputedTokens = "computed_tokens";

/// The rows of a batch without the padding that only longer rows need.
TextInput input_of(const Batch& batch) {
  const std::int64_t width = width_of(batch.shapes);
  return {batch.inputs.narrow(1, 0, width), batch.targets.narrow(1, 0, width), batch.shapes};
}

}  // namespace

double TextTotals::perplexity() const {
  return std::exp(loss);
}

Evaluation TextTotals::evaluation() const {
  return {loss, sequences, {{"perplexity", perplexity()}}, -loss};
}

void LanguageModel::begin_step(std::int64_t step, int replica) {
  seeds_ = StepSeeds(seed_, step, replica);
  network_->set_fake_quantisation(step < fake_quant_step_ ? FakeQuantisation::off : FakeQuantisation::on);
}

Loss LanguageModel::forward(const Batch& batch) {
  network_->set_dropout_seed(seeds_.next());
  Loss loss{network_->loss_sum(input_of(batch)).div(static_cast<double>(batch.global_targets))};
  std::int64_t tokens = 0, targets = 0;
  for (const RowShape& row : batch.shapes) {
    tokens += row.num_tokens();
    targets += row.num_targets;
  }
  const std::int64_t computed = batch.num_rows * width_of(batch.shapes);
  loss.sums = {{kTokens, static_cast<double>(tokens)},
               {kTrainedTokens, static_cast<double>(targets)},
               {kComputedTokens, static_cast<double>(computed)}};
  return loss;
}

std::vector<SumKind> LanguageModel::sums() const {
  return {{kTokens, SumUse::rank_count}, {kTrainedTokens, SumUse::rank_count}, {kComputedTokens, SumUse::rank_count}};
}

Evaluation LanguageModel::evaluate(DataSource& test_set, const Communicator& communicator) {
  return score(test_set, communicator).evaluation();
}

TextTotals LanguageModel::score(DataSource& test_set, const Communicator& communicator) {
  const at::NoGradGuard no_grad;
  network_->set_training(Mode::evaluate);
  network_->set_fake_quantisation(FakeQuantisation::on);  // begin_step() sets that of training
  BatchSums losses(device_, 1);
  std::array<std::int64_t, 3> counts{};
  std::int64_t &sequences = counts[0], &tokens = counts[1], &targets = counts[2];
  for_each_batch(test_set, communicator, [&](const Batch& batch) {
    const std::int64_t rows = std::max<std::int64_t>(1, micro_batch_.value_or(batch.num_rows));
    for (std::int64_t first = 0; first < batch.num_rows; first += rows) {
      const Batch part = batch.rows(first, std::min(rows, batch.num_rows - first));
      losses.add(network_->loss_sum(input_of(part)));
    }
    for (const RowShape& row : batch.shapes) {
      sequences += static_cast<std::int64_t>(row.lengths.size());
      tokens += row.num_tokens();
      targets += row.num_targets;
    }
  });
  network_->set_training(Mode::train);
  std::array<double, 1> sum{losses.finish().front()};
  communicator.allreduce(std::span<double>(sum), ReduceOp::sum);
  communicator.allreduce(std::span<std::int64_t>(counts), ReduceOp::sum);
  return {sum[0] / static_cast<double>(targets), sequences, tokens, targets};
}

double LanguageModel::flops(std::int64_t length) const {
  const LlamaConfig& config = network_->config();
  // Forward and the gradient of activations, 2 each; with trained weights also theirs. Adapters, a percent, are left
  // out. Causal attention: 4 L d_q / 2 for every token of the past, forward; three times that in all.
  const double per_token = (has_adapters() ? 4.0 : 6.0) * static_cast<double>(config.num_matmul_parameters());
  const double per_pair = 3.0 * 2.0 * static_cast<double>(config.num_layers * config.query_size());
  const auto tokens = static_cast<double>(length);
  return per_token * tokens + per_pair * tokens * tokens;
}

std::int64_t LanguageModel::frozen_bytes() const {
  return has_adapters() ? network_->weight_bytes() : 0;
}

std::int64_t LanguageModel::activation_bytes(std::int64_t rows, std::int64_t row_size,
                                             const std::function<void(const at::Tensor&)>& backward) {
  Llama& network = *network_;
  const std::int64_t tokens = rows * row_size;
  const std::int64_t small = std::min<std::int64_t>(device_.is_cuda() ? 128 : 32, row_size);
  const std::int64_t chunk = network.loss_chunk();
  const SizedWork work = [&](std::int64_t length) {
    // As many chunks of logits as the whole work has, so that they too grow with the size.
    network.set_loss_chunk(tokens > chunk ? (length * chunk + tokens - 1) / tokens : length);
    const at::Tensor ids = at::zeros({1, length}, at::TensorOptions().dtype(at::kLong).device(device_));
    const std::vector<RowShape> shapes{{{length}, length}};
    return [&network, ids, shapes, &backward] { backward(network.loss_sum({ids, ids, shapes})); };
  };
  const std::int64_t peak = predicted_peak(device_, work, {small, 2 * small}, tokens);
  network.set_loss_chunk(chunk);
  return peak;
}

}  // namespace multicard
