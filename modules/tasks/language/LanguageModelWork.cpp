// What a language model computes, and what that takes.

#include <algorithm>
#include <array>

#include <ATen/ops/zeros.h>

#include "device/AllocationRecorder.hpp"
#include "device/Readback.hpp"
#include "state/PeftAdapter.hpp"
#include "tasks/language/LanguageModel.hpp"

namespace multicard {

namespace {

constexpr const char* kTokens = "tokens";
constexpr const char* kTrainedTokens = "trained_tokens";
constexpr const char* kComputedTokens = "computed_tokens";

/// One row of a test set, all tokens of which are targets.
Batch trial_row(std::int64_t length, bool is_pair, at::Device device) {
  Batch batch;
  batch.num_rows = batch.global_rows = 1;
  batch.inputs = batch.targets = at::zeros({1, length}, at::TensorOptions().dtype(at::kLong).device(device));
  const std::int64_t half = length / 2;
  batch.shapes = {is_pair ? RowShape{{half, length - half}, length} : RowShape{{length}, length}};
  return batch;
}

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
  // Quantisation-aware training may begin with plain steps; evaluation is always that of the quantised weights
  // (score()).
  network_->set_fake_quantisation(step < options_.method.fake_quant_step ? FakeQuantisation::off
                                                                         : FakeQuantisation::on);
}

// Counts go with the loss through one small all-reduce; no second collective is needed for tokens per step.
Loss LanguageModel::forward(const Batch& batch) {
  network_->set_dropout_seed(seeds_.next());
  if (batch.num_rows == 0)
    return {objective_->idle_loss(), {{kTokens, 0.0}, {kTrainedTokens, 0.0}, {kComputedTokens, 0.0}}};
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

// No more rows at once than training computes: the estimate of memory assumes so (RankMemory::evaluation_bytes()).
void LanguageModel::for_each_part(DataSource& source, const Communicator& communicator,
                                  const std::function<void(const Batch& part)>& body, Llama* network) const {
  const auto body_of_parts = [&](const Batch& batch) {
    const std::int64_t rows = std::max<std::int64_t>(1, options_.run.micro_batch.value_or(batch.num_rows));
    for (std::int64_t first = 0; first < batch.num_rows; first += rows)
      body(batch.rows(first, std::min(rows, batch.num_rows - first)));
  };
  const Llama* const copy = network == nullptr && preference_ != nullptr ? preference_->copy() : nullptr;
  (network ? *network : *network_)
      .with_unequal_passes([&] { for_each_batch(source, communicator, body_of_parts); }, copy);
}

bool LanguageModel::trains_head() const {
  const NamedTensors& tensors = trained();
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const NamedTensor& one) { return one.name == PeftAdapter::saved_name("lm_head.weight"); });
}

double LanguageModel::flops(std::int64_t length) const {
  const LlamaConfig& config = network_->config();
  // Forward and the gradient of activations, 2 each; with trained weights also theirs, and of an output layer that
  // is trained along with adapters. Those, a percent, are left out. Causal attention: 4 L d_q / 2 for every token of
  // the past, forward; three times that in all. A reference model computes forward alone.
  const int references = objective_->num_reference_passes();
  const double per_token =
      ((has_adapters() ? 4.0 : 6.0) + 2.0 * references) * static_cast<double>(config.num_matmul_parameters()) +
      (has_adapters() && trains_head() ? 2.0 : 0.0) * static_cast<double>(config.vocabulary_size * config.hidden_size);
  const double per_pair = (3.0 + references) * 2.0 * static_cast<double>(config.num_layers * config.query_size());
  const auto tokens = static_cast<double>(length);
  return per_token * tokens + per_pair * tokens * tokens;
}

std::int64_t LanguageModel::adapter_bytes() const {
  return has_adapters() ? bytes_of(network_->adapters()) : 0;
}

FrozenBytes LanguageModel::frozen() const {
  return {has_adapters() ? network_->weight_bytes() : 0, objective_->frozen_bytes()};
}

WorkSize LanguageModel::work_size(const PartShape& part) const {
  return {part.size, part.targets, network_->loss_chunk()};
}

/// On one sequence, whose targets all have logits at once.
/// The loss is normally computed in chunks of targets, which would hide how logits grow with them: for the measurement
/// the chunk is as long as the longer sequence. What grows by a whole row of the vocabulary for every target (2 bytes
/// an element at least) counts as logits, and MeasuredPair limits it to the real chunk.
MeasuredPair LanguageModel::measure(const std::function<void(std::int64_t)>& work_on) {
  const LlamaConfig& config = network_->config();
  const std::int64_t small = std::min<std::int64_t>(device_.is_cuda() ? 128 : 32, config.max_positions / 2);
  const std::int64_t chunk = network_->loss_chunk();
  network_->set_fake_quantisation(FakeQuantisation::on);  // begin_step() sets that of a step
  network_->set_loss_chunk(2 * small);
  const SizedWork work = [&](std::int64_t length) { return [&work_on, length] { work_on(length); }; };
  MeasuredPair pair = measured_pair(device_, work, {small, 2 * small}, 2 * config.vocabulary_size - 1);
  network_->set_loss_chunk(chunk);
  return pair;
}

// memory_table() also asks for the kind of checkpointing that the deck has not: afterwards the network is as before.
const MeasuredPair& LanguageModel::measured(Checkpointing mode, const Backward& backward) {
  const auto known = measured_.find(mode);
  if (known != measured_.end()) return known->second;
  network_->set_checkpointing(mode);
  const MeasuredPair pair = measure([&](std::int64_t length) {
    const at::Tensor loss = objective_->trial_loss(length);
    const StageOfWork stage(WorkStage::backward);
    backward(loss);
  });
  network_->set_checkpointing(checkpointing());
  return measured_.emplace(mode, pair).first->second;
}

StageBytes LanguageModel::activation_bytes(const PartShape& part, const Backward& backward) {
  network_->prepare_positions(part.longest);
  return measured(checkpointing(), backward).at_peak(work_size(part));
}

StageBytes LanguageModel::evaluation_bytes(const PartShape& part) {
  network_->prepare_positions(part.longest);
  if (!measured_evaluation_)
    measured_evaluation_ = measure([&](std::int64_t length) {
      objective_->test_sums(trial_row(length, options_.method.is_preference(), device_));
    });
  return measured_evaluation_->at_peak(work_size(part));
}

std::optional<StageBytes> LanguageModel::switched_activation_bytes(const PartShape& part, const Backward& backward) {
  const Checkpointing other = checkpointing() == Checkpointing::off ? Checkpointing::per_layer : Checkpointing::off;
  return measured(other, backward).at_peak(work_size(part));
}

}  // namespace multicard
