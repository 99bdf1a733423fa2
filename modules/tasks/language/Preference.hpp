#pragma once
/// \file Preference pairs as an objective: direct preference optimisation (DPO).

#include <memory>

#include "nn/losses/PreferenceLoss.hpp"
#include "tasks/language/LanguageObjective.hpp"

namespace multicard {

/// Log-probabilities of the reference model for the rows of a data source, by the numbers of its rows.
struct ReferenceTable {
  std::vector<float> chosen, rejected;
};

/// The mean of preference_losses() over the pairs of the global batch. All sequences of a micro-batch are computed in
/// one row, chosen and rejected in turn, so that there is no padding; dropout is off in both passes. The first loss is
/// ln 2 with PreferenceLoss::sigmoid, as policy and reference are equal then.
class Preference final : public LanguageObjective {
 public:
  /// `network` must outlive it. `reference` is the frozen copy where the options ask for one, else null.
  Preference(Llama& network, std::unique_ptr<Llama> reference, const PreferenceOptions& options);
  ~Preference() override;

  /// \name With Reference::cached: before the first forward, and before the first test_sums
  /// @{
  void set_training_reference(ReferenceTable table) { training_ = std::move(table); }
  void set_test_reference(ReferenceTable table) { test_ = std::move(table); }
  bool has_training_reference() const { return !training_.chosen.empty(); }
  bool has_test_reference() const { return !test_.chosen.empty(); }
  /// @}
  /// What the reference model gives, without the tables: float64 [2, rows] on the CPU, chosen and rejected. `start`
  /// stands for the network where that has been trained; both without their adapters. Null: the network itself.
  at::Tensor reference_log_probs(const Batch& batch, Llama* start = nullptr);

  /// The second model; null where there is none.
  const Llama* copy() const { return reference_.get(); }

  Loss forward(const Batch& batch) override;
  at::Tensor idle_loss() override;
  std::vector<std::string> metrics() const override;
  std::int64_t computed_tokens(const Batch& batch) const override;
  at::Tensor test_sums(const Batch& part) override;
  TextTotals totals(const std::vector<double>& sums, const RowCounts& counts) const override;
  at::Tensor trial_loss(std::int64_t length) override;
  int num_reference_passes() const override { return options_.reference == Reference::cached ? 0 : 1; }
  std::int64_t frozen_bytes() const override { return reference_ ? reference_->weight_bytes() : 0; }

 private:
  struct PackedPairs;
  PairLogProbs log_probs(Llama& network, const PackedPairs& pairs) const;
  PairLogProbs computed_reference(const PackedPairs& pairs, Llama* start = nullptr) const;
  PairLogProbs reference_of(const PackedPairs& pairs, const Batch& batch, const ReferenceTable& table) const;

  Llama& network_;
  std::unique_ptr<Llama> reference_;
  PreferenceOptions options_;
  ReferenceTable training_, test_;
};

}  // namespace multicard
