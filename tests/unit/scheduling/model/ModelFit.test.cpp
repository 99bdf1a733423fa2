#include "scheduling/model/ModelFit.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "Synthetic.hpp"
#include "base/Error.hpp"
#include "published/PolluxForm.hpp"
#include "scheduling/model/LevenbergMarquardt.hpp"
#include "scheduling/model/LinkCalibration.hpp"

namespace multicard {
namespace {

using namespace test;

/// The largest error at points of up to `max_gpus` GPUs, measured against the true parameters.
double worst_error(const std::vector<double>& values, int max_gpus) {
  double worst = 0;
  for (const StepObservation& exact : steps(max_gpus, 1, 0, 1))
    worst = std::max(worst, std::abs(seconds_at(StepTimeModel(), values, exact.at) / exact.seconds - 1));
  return worst;
}

TEST(LevenbergMarquardt, FindsTheMinimumOfRosenbrocksFunction) {
  const auto rosenbrock = [](std::span<const double> x, Residuals& out) {
    out.values = {10 * (x[1] - x[0] * x[0]), 1 - x[0]};
    out.jacobian = {-20 * x[0], 10, -1, 0};
  };

  const Minimum found = minimize(rosenbrock, {-1.2, 1}, {.max_iterations = 200});

  EXPECT_NEAR(found.x[0], 1, 1e-3);
  EXPECT_NEAR(found.x[1], 1, 1e-3);
}

TEST(LevenbergMarquardt, IsHardlyMovedByAnOutlier) {
  const std::vector<double> measured{1.00, 1.01, 0.99, 1.02, 0.98, 9};
  const auto mean = [&](std::span<const double> x, Residuals& out) {
    out.values.clear();
    for (const double value : measured)
      out.values.push_back(x[0] - value);
    out.jacobian.assign(measured.size(), 1.0);
    out.num_robust = measured.size();
  };

  EXPECT_NEAR(minimize(mean, {0}, {.robust_scale = 0.05}).x[0], 1, 0.05);
}

TEST(ModelFit, RecoversComputingExactlyAndAllTimesFromNoisySteps) {
  const FittedValues fitted = fit(StepTimeModel(), steps(16, 4, 0.03, 1));
  std::vector<double> values = fitted.values;

  EXPECT_NEAR(term(values, StepTerm::compute_row), 0.004, 0.004 * 0.05);
  EXPECT_NEAR(term(values, StepTerm::overlap), 2, 0.5);
  EXPECT_LT(worst_error(values, 16), 0.05);
  for (const double value : values)
    EXPECT_GE(value, 0);
}

TEST(ModelFit, ExtrapolatesToFourTimesTheGpus) {
  const FittedValues fitted = fit(StepTimeModel(), steps(16, 4, 0.02, 2));

  EXPECT_LT(mean_absolute_error(StepTimeModel(), fitted.values, steps(64, 1, 0, 1)), 0.06);
}

TEST(ModelFit, IsRobustAgainstOutliers) {
  std::vector<StepObservation> observations = steps(16, 4, 0.03, 3);
  for (std::size_t i = 0; i < observations.size(); i += 10)
    observations[i].seconds *= 5;

  EXPECT_LT(worst_error(fit(StepTimeModel(), observations).values, 16), 0.08);
}

TEST(ModelFit, GivesTheSameValuesAgain) {
  const std::vector<StepObservation> observations = steps(8, 2, 0.05, 4);

  EXPECT_EQ(fit(StepTimeModel(), observations).values, fit(StepTimeModel(), observations).values);
}

TEST(ModelFit, LeavesOutWhatTheStepsSayNothingAbout) {
  std::vector<double> values = fit(StepTimeModel(), steps(4, 1, 0.01, 5)).values;  // one node

  EXPECT_EQ(term(values, StepTerm::global_latency), 0);
  EXPECT_EQ(term(values, StepTerm::global_volume), 0);
  EXPECT_EQ(term(values, StepTerm::stage_row), 0);
  EXPECT_GT(term(values, StepTerm::compute_row), 0);
}

TEST(ModelFit, RecoversThePublishedForm) {
  const PolluxForm form;
  const std::vector<double> truth{0.1, 0.01, 0.05, 0.01, 0.2, 0.005, 1.5};
  std::vector<StepObservation> observations = steps(16, 1, 0, 1);
  for (StepObservation& observation : observations)
    observation.seconds = seconds_at(form, truth, observation.at);

  EXPECT_LT(mean_absolute_error(form, fit(form, observations).values, observations), 0.01);
}

TEST(ModelFit, RefusesStepsWithoutTime) {
  EXPECT_THROW(fit(StepTimeModel(), {}), DataError);
  EXPECT_THROW(fit(StepTimeModel(), std::vector<StepObservation>{{{}, 0.0}}), DataError);
  EXPECT_THROW(fit(StepTimeModel(), std::vector<StepObservation>{{{}, std::numeric_limits<double>::infinity()}}),
               DataError);
}

TEST(LinkCalibration, PredictsTasksOfOtherSizesOnTheSameMachine) {
  std::vector<double> machine(static_cast<std::size_t>(StepTerm::count), 0.0);
  term(machine, StepTerm::overlap) = 1;
  term(machine, StepTerm::local_latency) = 1e-4;
  term(machine, StepTerm::local_volume) = 1e-10;
  term(machine, StepTerm::global_latency) = 5e-4;
  term(machine, StepTerm::global_volume) = 8e-10;
  std::vector<StepObservation> all_reduces;
  for (int gpus = 2; gpus <= 16; gpus += 2)
    for (double bytes = 1e4; bytes < 1e9; bytes *= 10) {
      StepPoint at = on_nodes_of_four(gpus, 1);
      at.volume = bytes;
      all_reduces.push_back({at, seconds_at(StepTimeModel(), machine, at)});
    }
  FitOptions options;
  options.known = calibrate_links(all_reduces);
  std::vector<double> task = machine;
  term(task, StepTerm::compute_base) = 0.01;
  term(task, StepTerm::compute_row) = 0.001;
  const auto step = [&](int gpus, double rows) {
    StepPoint at = on_nodes_of_four(gpus, rows);
    at.volume = 3e7;
    return StepObservation{at, seconds_at(StepTimeModel(), task, at)};
  };

  // Nothing but one GPU was measured of the task.
  const FittedValues fitted = fit(StepTimeModel(), std::vector{step(1, 8), step(1, 16), step(1, 32)}, options);

  for (const int gpus : {2, 4, 8, 16}) {
    const StepObservation exact = step(gpus, 16);
    EXPECT_NEAR(seconds_at(StepTimeModel(), fitted.values, exact.at) / exact.seconds, 1, 0.05) << gpus;
  }
}

}  // namespace
}  // namespace multicard
