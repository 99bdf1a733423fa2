#pragma once
/// \file The learning rate of every step.

#include <cstdint>

#include "train/OptimizerOptions.hpp"

namespace multicard {

/// Learning rate as a function of the step alone. After a warm-up that rises linearly from 0 at step 0, as
/// transformers' get_*_schedule_with_warmup:
///   - constant: the peak;
///   - linear: a line to min_factor of the peak at total_steps;
///   - cosine: half a period down to min_factor of the peak at total_steps;
///   - step: torch's StepLR counted from the end of the warm-up: times gamma every step_size steps, not below
///   min_factor.
/// From total_steps on, linear and cosine stay at their end.
class Schedule {
 public:
  /// `run_steps` is where linear and cosine end unless the options say total_steps.
  Schedule(const ScheduleOptions& options, double peak, std::int64_t run_steps);

  /// Of update `step`, counted from 0.
  double learning_rate(std::int64_t step) const;

 private:
  double factor(std::int64_t step) const;

  ScheduleOptions options_;
  double peak_;
  std::int64_t total_steps_;
};

}  // namespace multicard
