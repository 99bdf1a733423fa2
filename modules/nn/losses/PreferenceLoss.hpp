#pragma once
/// \file Losses of preference pairs: DPO (Rafailov et al. 2023, arXiv 2305.18290) and what was made of it.

#include <ATen/core/Tensor.h>

#include "nn/options/PreferenceOptions.hpp"

namespace multicard {

/// Log-probabilities of the answers of pairs, [pairs] each.
struct PairLogProbs {
  at::Tensor chosen, rejected;
};

/// The loss of each pair, [pairs]. With h = (policy.chosen - policy.rejected) - (reference.chosen -
/// reference.rejected), beta b and label smoothing e:
///
///     sigmoid   -(1 - e) log sigmoid(b h) - e log sigmoid(-b h)      (e > 0: conservative DPO, Mitchell 2023)
///     robust    (-(1 - e) log sigmoid(b h) + e log sigmoid(-b h)) / (1 - 2 e)   (Chowdhury et al. 2024, 2403.00409)
///     ipo       (h - 1 / (2 b))^2                                    (Azar et al. 2023, arXiv 2310.12036)
///     hinge     max(0, 1 - b h)                                      (Zhao et al. 2023, arXiv 2305.10425)
at::Tensor preference_losses(const PairLogProbs& policy, const PairLogProbs& reference,
                             const PreferenceOptions& options);

/// What is recorded of pairs, by the names of its values.
struct RewardSums {
  static constexpr const char* kNames[] = {"reward_chosen", "reward_rejected", "reward_margin", "reward_accuracy"};
  /// [4]: sums over the pairs of the rewards b (policy - reference) of the chosen and of the rejected answers, of their
  /// differences, and of 1 for each pair whose chosen answer has the larger reward.
  at::Tensor values;
};

/// Without gradients.
RewardSums reward_sums(const PairLogProbs& policy, const PairLogProbs& reference, double beta);

}  // namespace multicard
