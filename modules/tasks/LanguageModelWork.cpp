// What a language model computes, and what that takes.

#include <algorithm>
#include <array>

#include "device/AllocationRecorder.hpp"
#include "device/Readback.hpp"
#include "tasks/LanguageModel.hpp"

namespace multicard {

namespace {

constexpr const char* kTokens = "tokens";
constexpr const char* kTrainedTokens = "trained_tokens";
constexpr const char* kComputedTokens = "computed_tokens";

}  // namespace

void RowCounts::add(const std::vector<RowShape>& shapes) {
  rows += static_cast<std::int64_t>(shapes.size());
  for (const RowShape& row : shapes) {
    sequences += static_cast<std::int64_t>(row.lengths.size());
    tokens += row.num_tokens();
    targets += row.num_targets;
  }
}

void LanguageModel::begin_step(std::int64_t step, int replica) {
  seeds_ = StepSeeds(options_.run.seed, step, replica);
  network_->set_fake_quantisation(step < options_.method.fake_quant_step ? FakeQuantisation::off
                                                                         : FakeQuantisation::on);
}

Loss LanguageModel::forward(const Batch& batch) {
  network_->set_dropout_seed(seeds_.next());
  Loss loss = objective_->forward(batch);
  RowCounts counts;
  counts.add(batch.shapes);
  loss.sums.push_back({kTokens, static_cast<double>(counts.tokens)});
  loss.sums.push_back({kTrainedTokens, static_cast<double>(counts.targets)});
  loss.sums.push_back({kComputedTokens, static_cast<double>(objective_->computed_tokens(batch))});
  return loss;
}

std::vector<SumKind> LanguageModel::sums() const {
  std::vector<SumKind> sums{
      {kTokens, SumUse::rank_count}, {kTrainedTokens, SumUse::rank_count}, {kComputedTokens, SumUse::rank_count}};
  for (const std::string& name : objective_->metrics())
    sums.push_back({name, SumUse::metric});
  return sums;
}

Evaluation LanguageModel::evaluate(DataSource& test_set, const Communicator& communicator) {
  return score(test_set, communicator).evaluation();
}

TextTotals LanguageModel::score(DataSource& test_set, const Communicator& communicator) {
  network_->set_fake_quantisation(FakeQuantisation::on);  // begin_step() sets that of training
  BatchSums of_batches(device_, 1 + objective_->metrics().size());
  RowCounts counts;
  for_each_part(test_set, communicator, [&](const Batch& part) {
    of_batches.add(objective_->test_sums(part));
    counts.add(part.shapes);
  });
  std::vector<double> sums = of_batches.finish();
  communicator.allreduce(std::span<double>(sums), ReduceOp::sum);
  std::array<std::int64_t, 4> numbers{counts.rows, counts.sequences, counts.tokens, counts.targets};
  communicator.allreduce(std::span<std::int64_t>(numbers), ReduceOp::sum);
  return objective_->totals(sums, {numbers[0], numbers[1], numbers[2], numbers[3]});
}

void LanguageModel::for_each_part(DataSource& source, const Communicator& communicator,
                                  const std::function<void(const Batch& part)>& body) const {
  for_each_batch(source, communicator, [&](const Batch& batch) {
    const std::int64_t rows = std::max<std::int64_t>(1, options_.run.micro_batch.value_or(batch.num_rows));
    for (std::int64_t first = 0; first < batch.num_rows; first += rows)
      body(batch.rows(first, std::min(rows, batch.num_rows - first)));
  });
}

double LanguageModel::flops(std::int64_t length) const {
  const LlamaConfig& config = network_->config();
  // Forward and the gradient of activations, 2 each; with trained weights also theirs. Adapters, a percent, are left
  // out. Causal attention: 4 L d_q / 2 for every token of the past, forward; three times that in all. A reference model
  // computes forward alone.
  const int references = objective_->num_reference_passes();
  const double per_token =
      ((has_adapters() ? 4.0 : 6.0) + 2.0 * references) * static_cast<double>(config.num_matmul_parameters());
  const double per_pair = (3.0 + references) * 2.0 * static_cast<double>(config.num_layers * config.query_size());
  const auto tokens = static_cast<double>(length);
  return per_token * tokens + per_pair * tokens * tokens;
}

std::int64_t LanguageModel::adapter_bytes() const {
  std::int64_t bytes = 0;
  if (!has_adapters()) return bytes;
  for (const NamedTensor& adapter : network_->adapters())
    bytes += static_cast<std::int64_t>(adapter.tensor.nbytes());
  return bytes;
}

std::int64_t LanguageModel::frozen_bytes() const {
  return (has_adapters() ? network_->weight_bytes() : 0) + reference_bytes();
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
    return [this, length, &backward] { backward(objective_->trial_loss(length)); };
  };
  const std::int64_t peak = predicted_peak(device_, work, {small, 2 * small}, tokens);
  network.set_loss_chunk(chunk);
  return peak;
}

}  // namespace multicard
