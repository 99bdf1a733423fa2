#include "train/Schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace multicard {

Schedule::Schedule(const ScheduleOptions& options, double peak, std::int64_t run_steps)
    : options_(options), peak_(peak), total_steps_(options.total_steps.value_or(run_steps)) {}

double Schedule::learning_rate(std::int64_t step) const {
  return peak_ * factor(step);
}

double Schedule::factor(std::int64_t step) const {
  const std::int64_t warmup = options_.warmup_steps;
  if (step < warmup) return static_cast<double>(step) / static_cast<double>(warmup);
  if (options_.name == ScheduleName::constant) return 1;
  if (options_.name == ScheduleName::step) {
    const std::int64_t decays = (step - warmup) / options_.step_size;
    return std::max(std::pow(options_.gamma, static_cast<double>(decays)), options_.min_factor);
  }
  if (step >= total_steps_) return options_.min_factor;
  // Never 0 / 0: with total_steps no larger than the warm-up every step has returned above.
  const double progress = static_cast<double>(step - warmup) / static_cast<double>(total_steps_ - warmup);
  const double down =
      options_.name == ScheduleName::linear ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return options_.min_factor + (1 - options_.min_factor) * down;
}

}  // namespace multicard
