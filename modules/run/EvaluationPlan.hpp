#pragma once
/// \file When a run evaluates.

#include <cstdint>

#include "tasks/options/EvaluateOptions.hpp"

namespace multicard {

/// A function of the number of completed steps.
class EvaluationPlan {
 public:
  EvaluationPlan(const EvaluateOptions& when, std::int64_t steps_per_epoch, std::int64_t num_steps)
      : every_epochs_(when.every_epochs),
        every_steps_(when.every_steps),
        steps_per_epoch_(steps_per_epoch),
        num_steps_(num_steps) {}

  /// Whether an epoch, or the whole run, has just ended.
  bool epoch_ended(std::int64_t num_completed) const {
    return num_completed % steps_per_epoch_ == 0 || num_completed >= num_steps_;
  }
  /// Whether an evaluation is due after `num_completed` steps. The last step counts as the end of an epoch and, where
  /// steps are counted, as one of those asked for.
  bool is_due(std::int64_t num_completed) const {
    const bool is_last = num_completed >= num_steps_;
    const bool by_epoch = every_epochs_ > 0 && epoch_ended(num_completed) &&
                          (is_last || (num_completed / steps_per_epoch_) % every_epochs_ == 0);
    return by_epoch || (every_steps_ > 0 && (num_completed % every_steps_ == 0 || is_last));
  }

 private:
  std::int64_t every_epochs_, every_steps_, steps_per_epoch_, num_steps_;
};

}  // namespace multicard
