#include "MeasuredSteps.hpp"

#include <numeric>

namespace multicard {

double MeasuredSteps::percent(Phase phase) const {
  return 100 * phases[static_cast<std::size_t>(phase)] / std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

MeasuredSteps measured_steps(const SessionResult& result) {
  const std::vector<StepTimes>& steps = result.record.steps;
  const auto skipped = static_cast<std::size_t>(result.summary.skip_steps);
  MeasuredSteps measured;
  measured.num_skipped = skipped < steps.size() ? skipped : 0;
  for (std::size_t i = measured.num_skipped; i < steps.size(); ++i) {
    measured.seconds.push_back(steps[i].step);
    measured.rates.push_back(static_cast<double>(result.work[i]) / steps[i].step);
    for (std::size_t phase = 0; phase < measured.phases.size(); ++phase)
      measured.phases[phase] += steps[i].phases[phase];
  }
  return measured;
}

}  // namespace multicard
