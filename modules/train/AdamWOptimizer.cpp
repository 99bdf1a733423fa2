#include "train/AdamWOptimizer.hpp"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>

namespace multicard {

AdamWOptimizer::AdamWOptimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated)
    : AdamOptimizer(options, updated),
      first_moments_(zeros_like_parameters()),
      second_moments_(zeros_like_parameters()) {
  for (const Group& group : groups()) {
    first_of_groups_.push_back(of_group(group, first_moments_));
    second_of_groups_.push_back(of_group(group, second_moments_));
  }
}

void AdamWOptimizer::step(double learning_rate, const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  const std::optional<at::Tensor> found = found_inf.defined() ? std::optional(found_inf) : std::nullopt;
  // On the device, where alone it is known whether the update takes place. The kernel needs the number of this one;
  // where the update is left out, the count is taken back below. All parameters share one count.
  num_steps().add_(1);
  for (std::size_t i = 0; i < groups().size(); ++i) {
    const Group& group = groups()[i];
    const std::vector<at::Tensor> counts(group.parameters.size(), num_steps());
    at::_fused_adamw_(group.parameters, group.gradients, first_of_groups_[i], second_of_groups_[i],
                      /*max_exp_avg_sqs=*/{}, counts, learning_rate, beta1(), beta2(), group.weight_decay, eps(),
                      /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/std::nullopt, found);
  }
  if (found) num_steps().sub_(*found);
}

NamedTensors AdamWOptimizer::state() const {
  NamedTensors state;
  for (std::size_t i = 0; i < first_moments_.size(); ++i) {
    state.push_back({"exp_avg." + names()[i], first_moments_[i]});
    state.push_back({"exp_avg_sq." + names()[i], second_moments_[i]});
  }
  state.push_back({"step", num_steps()});
  return state;
}

}  // namespace multicard
