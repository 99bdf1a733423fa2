#include "nn/losses/PreferenceLoss.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>

namespace multicard {

// log_sigmoid and not the logarithm of a sigmoid, which would be -inf for large negative margins.
at::Tensor preference_losses(const PairLogProbs& policy, const PairLogProbs& reference,
                             const PreferenceOptions& options) {
  const double beta = options.beta, smoothing = options.label_smoothing;
  const at::Tensor h = (policy.chosen - policy.rejected) - (reference.chosen - reference.rejected);
  switch (options.loss) {
    case PreferenceLoss::ipo:
      return (h - 1 / (2 * beta)).square();
    case PreferenceLoss::hinge:
      return at::relu(1 - beta * h);
    default:
      break;
  }
  const at::Tensor right = -at::log_sigmoid(beta * h);
  if (smoothing == 0) return right;
  const at::Tensor wrong = -at::log_sigmoid(-beta * h);
  if (options.loss == PreferenceLoss::robust)
    return ((1 - smoothing) * right - smoothing * wrong) / (1 - 2 * smoothing);
  return (1 - smoothing) * right + smoothing * wrong;
}

// The implicit reward of DPO: beta times how much more probable an answer is to the policy than to the reference.
RewardSums reward_sums(const PairLogProbs& policy, const PairLogProbs& reference, double beta) {
  const at::NoGradGuard no_grad;
  const at::Tensor chosen = beta * (policy.chosen - reference.chosen);
  const at::Tensor rejected = beta * (policy.rejected - reference.rejected);
  const at::Tensor is_right = (chosen > rejected).to(chosen.scalar_type());
  return {at::stack({chosen, rejected, chosen - rejected, is_right}).sum(1)};
}

}  // namespace multicard
