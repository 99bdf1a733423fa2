#pragma once
/// \file The published formula that ours is compared with.

#include "scheduling/model/StepTimeForm.hpp"

namespace multicard {

/// Pollux's time of a step (OSDI'21, section 3.2): s G + (G^g + S^g)^(1/g), G = alpha_c + beta_c rows, and S = alpha +
/// beta max(K - 2, 0) of K > 1 GPUs, with one pair of alpha and beta for a node and one for several.
class PolluxForm : public StepTimeForm {
 public:
  std::span<const FormParameter> parameters() const override;
  double seconds(const StepPoint& at, std::span<const double> values, std::span<double> gradient) const override;
  std::vector<bool> identifiable(std::span<const StepObservation> observations) const override;
  std::vector<double> start(std::span<const StepObservation> observations) const override;
  std::vector<Penalty> penalties(std::span<const double> values) const override;
};

}  // namespace multicard
