#include "tasks/language/Preference.hpp"

#include <optional>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "nn/layers/BlockHooks.hpp"

namespace multicard {

namespace {

/// The network without its adapters, for a while.
class WithoutAdapters {
 public:
  explicit WithoutAdapters(Llama& network) : network_(network) { network_.set_adapters(Adapters::off); }
  ~WithoutAdapters() { network_.set_adapters(Adapters::on); }
  WithoutAdapters(const WithoutAdapters&) = delete;
  WithoutAdapters& operator=(const WithoutAdapters&) = delete;

 private:
  Llama& network_;
};

/// Chosen and rejected in turn.
PairLogProbs pairs_of(const at::Tensor& sequences) {
  const at::Tensor pairs = sequences.view({-1, 2});
  return {pairs.select(1, 0), pairs.select(1, 1)};
}

}  // namespace

/// All sequences of a batch one after the other.
/// Attention stays within a sequence (the shape lists their lengths), so that the log-probabilities are those of rows
/// with padding, without computing the padding. Chosen and rejected alternate: pairs_of() relies on it.
struct Preference::PackedPairs {
  at::Tensor tokens, targets;    // [1, tokens]
  std::vector<RowShape> shapes;  // of the one row

  static PackedPairs of(const Batch& batch) {
    PackedPairs pairs{{}, {}, {RowShape{}}};
    std::vector<at::Tensor> tokens, targets;
    for (std::int64_t row = 0; row < batch.num_rows; ++row) {
      const RowShape& shape = batch.shapes[static_cast<std::size_t>(row)];
      tokens.push_back(batch.inputs[row].narrow(0, 0, shape.num_tokens()));
      targets.push_back(batch.targets[row].narrow(0, 0, shape.num_tokens()));
      RowShape& all = pairs.shapes.front();
      all.lengths.insert(all.lengths.end(), shape.lengths.begin(), shape.lengths.end());
      all.num_targets += shape.num_targets;
    }
    pairs.tokens = at::cat(tokens).unsqueeze(0);
    pairs.targets = at::cat(targets).unsqueeze(0);
    return pairs;
  }
  TextInput input() const { return {tokens, targets, shapes}; }
};

Preference::Preference(Llama& network, std::unique_ptr<Llama> reference, const PreferenceOptions& options)
    : network_(network), reference_(std::move(reference)), options_(options) {
  if ((options.reference == Reference::copy) != (reference_ != nullptr))
    throw std::logic_error("a copy of the model is the reference, or there is none");
}

Preference::~Preference() = default;

// Mode::evaluate switches dropout off, not gradients: policy and reference must only differ by their weights. The
// losses are negative log-probabilities, summed over the targets of an answer; some losses compare their means.
PairLogProbs Preference::log_probs(Llama& network, const PackedPairs& pairs) const {
  network.set_training(Mode::evaluate);
  const SequenceLosses losses = network.sequence_losses(pairs.input());
  return pairs_of(options_.averages_lengths() ? -losses.sums / losses.num_targets : -losses.sums);
}

PairLogProbs Preference::computed_reference(const PackedPairs& pairs, Llama* start) const {
  const at::NoGradGuard no_grad;
  if (reference_) return log_probs(*reference_, pairs);
  Llama& network = start ? *start : network_;
  const WithoutAdapters without(network);
  return log_probs(network, pairs);
}

at::Tensor Preference::reference_log_probs(const Batch& batch, Llama* start) {
  const PairLogProbs found = computed_reference(PackedPairs::of(batch), start);
  return at::stack({found.chosen, found.rejected}).cpu();
}

// Cached values are looked up by row number: the order of an epoch and the rank do not matter.
PairLogProbs Preference::reference_of(const PackedPairs& pairs, const Batch& batch, const ReferenceTable& table) const {
  if (options_.reference != Reference::cached) return computed_reference(pairs);
  const at::Device device = network_.device();
  at::Tensor values =  // of a trial, whose rows have no numbers, zeros
      at::zeros({2, batch.num_rows}, at::TensorOptions().dtype(at::kDouble).pinned_memory(!device.is_cpu()));
  auto* value = values.mutable_data_ptr<double>();
  for (const std::vector<float>* half : {&table.chosen, &table.rejected})
    for (const std::int64_t row : batch.row_numbers)
      *value++ = half->at(static_cast<std::size_t>(row));
  values = values.to(device, at::kDouble, /*non_blocking=*/true);
  return {values[0], values[1]};
}

// The reference comes first: its activations are gone before those of the policy, which stay for backward, are made.
Loss Preference::forward(const Batch& batch) {
  const PackedPairs pairs = PackedPairs::of(batch);
  const PairLogProbs reference = reference_of(pairs, batch, training_), policy = log_probs(network_, pairs);
  const auto num_pairs = static_cast<double>(batch.global_rows);
  Loss loss{preference_losses(policy, reference, options_).sum().div(num_pairs)};
  const at::Tensor rewards = reward_sums(policy, reference, options_.beta).values.div(num_pairs);
  std::int64_t number = 0;
  for (const char* name : RewardSums::kNames)
    loss.sums.push_back({name, rewards[number++]});
  return loss;
}

// The passes of forward(), in its order.
at::Tensor Preference::idle_loss() {
  if (options_.reference != Reference::cached) (reference_ ? *reference_ : network_).block_hooks()->idle_forward();
  return network_.block_hooks()->idle_loss();
}

std::vector<std::string> Preference::metrics() const {
  return {std::begin(RewardSums::kNames), std::end(RewardSums::kNames)};
}

std::int64_t Preference::computed_tokens(const Batch& batch) const {
  RowCounts counts;
  counts.add(batch.shapes);
  return counts.tokens;
}

at::Tensor Preference::test_sums(const Batch& part) {
  const at::NoGradGuard no_grad;
  const PackedPairs pairs = PackedPairs::of(part);
  // A copy's pass follows that of the network: Llama::with_unequal_passes() counts on it.
  const PairLogProbs policy = log_probs(network_, pairs), reference = reference_of(pairs, part, test_);
  return at::cat({preference_losses(policy, reference, options_).sum().unsqueeze(0),
                  reward_sums(policy, reference, options_.beta).values});
}

TextTotals Preference::totals(const std::vector<double>& sums, const RowCounts& counts) const {
  const auto num_pairs = static_cast<double>(counts.rows);
  TextTotals totals{sums.front() / num_pairs, counts.rows, counts.tokens, counts.targets};
  for (std::size_t i = 1; i < sums.size(); ++i)
    totals.values.emplace_back(RewardSums::kNames[i - 1], sums[i] / num_pairs);
  return totals;
}

// The passes are made in the order of forward(), so that the peak is its peak. Without a reference at hand the policy's
// own detached values take its place: memory does not depend on what they are.
at::Tensor Preference::trial_loss(std::int64_t length) {
  const at::Tensor ids = at::zeros({1, length}, at::TensorOptions().dtype(at::kLong).device(network_.device()));
  const std::int64_t half = length / 2;
  const PackedPairs pairs{ids, ids, {{{half, length - half}, length}}};
  std::optional<PairLogProbs> reference;
  if (options_.reference != Reference::cached) reference = computed_reference(pairs);
  const PairLogProbs policy = log_probs(network_, pairs);
  if (!reference) reference = {policy.chosen.detach(), policy.rejected.detach()};
  return preference_losses(policy, *reference, options_).sum();
}

}  // namespace multicard
