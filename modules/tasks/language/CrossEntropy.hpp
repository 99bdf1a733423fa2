#pragma once
/// \file The cross-entropy of target tokens as an objective.

#include "tasks/language/LanguageObjective.hpp"

namespace multicard {

/// The mean over the target tokens of the global batch; perplexity is its exponential.
class CrossEntropy final : public LanguageObjective {
 public:
  /// `network` must outlive it. \param noise_alpha of the noise of training (EmbeddingNoise); 0: none \param seed of
  /// the run
  CrossEntropy(Llama& network, double noise_alpha, std::uint64_t seed)
      : network_(network), noise_alpha_(noise_alpha), seed_(seed) {}

  Loss forward(const Batch& batch) override;
  at::Tensor idle_loss() override;
  std::vector<std::string> metrics() const override { return {}; }
  std::int64_t computed_tokens(const Batch& batch) const override;
  at::Tensor test_sums(const Batch& part) override;
  TextTotals totals(const std::vector<double>& sums, const RowCounts& counts) const override;
  at::Tensor trial_loss(std::int64_t length) override;
  int num_reference_passes() const override { return 0; }

 private:
  Llama& network_;
  double noise_alpha_;
  std::uint64_t seed_;
};

}  // namespace multicard
