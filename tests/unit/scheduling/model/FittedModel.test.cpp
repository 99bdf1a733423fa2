#include "scheduling/model/FittedModel.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "Synthetic.hpp"

namespace multicard {
namespace {

using namespace test;

FittedModel model_of(const std::vector<StepObservation>& observations, const PredictionOptions& options = {}) {
  return {std::make_shared<StepTimeModel>(), observations, options};
}

/// The share of new steps within their intervals.
double coverage(const FittedModel& model, const std::vector<StepObservation>& observations) {
  double within = 0;
  for (const StepObservation& observation : observations) {
    const Prediction prediction = model.predict(observation.at);
    if (prediction.low <= observation.seconds && observation.seconds <= prediction.high) ++within;
  }
  return within / static_cast<double>(observations.size());
}

TEST(FittedModel, IntervalsCoverWhatTheyPromise) {
  double within = 0;
  double beyond = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const FittedModel model = model_of(steps(12, 2, 0.05, seed));
    within += coverage(model, steps(12, 2, 0.05, 100 + seed)) / 4;
    beyond += coverage(model, steps(24, 2, 0.05, 200 + seed)) / 4;
  }

  EXPECT_GE(within, 0.88);
  EXPECT_LE(within, 0.995);
  EXPECT_GE(beyond, 0.85);
}

TEST(FittedModel, NoisierStepsHaveWiderIntervals) {
  const StepPoint at = on_nodes_of_four(8, 32);

  const double quiet = model_of(steps(12, 2, 0.01, 1)).predict(at).uncertainty();
  const double noisy = model_of(steps(12, 2, 0.10, 1)).predict(at).uncertainty();

  EXPECT_LT(quiet, 0.05);
  EXPECT_GT(noisy, 3 * quiet);
}

TEST(FittedModel, PredictsTheSameAgain) {
  const std::vector<StepObservation> observations = steps(8, 1, 0.05, 1);
  const Prediction first = model_of(observations).predict(on_nodes_of_four(16, 32));
  const Prediction second = model_of(observations).predict(on_nodes_of_four(16, 32));

  EXPECT_EQ(first.seconds, second.seconds);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
}

TEST(FittedModel, TrustsMeasuredSizesAndTwiceTheMeasured) {
  const FittedModel model = model_of(steps(8, 2, 0.2, 1));

  EXPECT_EQ(model.predict(on_nodes_of_four(6, 50)).trust, Trust::measured);
  EXPECT_EQ(model.predict(on_nodes_of_four(16, 50)).trust, Trust::extrapolated);
  EXPECT_EQ(model.predict(on_nodes_of_four(8, 512)).trust, Trust::extrapolated);
}

TEST(FittedModel, RefusesToExtrapolateFarUnlessTheIntervalIsNarrow) {
  const Prediction noisy = model_of(steps(8, 2, 0.2, 1)).predict(on_nodes_of_four(64, 50));
  std::vector<StepObservation> hardly_communicating = steps(8, 2, 0.001, 1);
  for (StepObservation& observation : hardly_communicating)
    observation.seconds = 0.05 + 0.004 * observation.at.rows_per_gpu + 1e-4 * std::log2(observation.at.gpus);
  const Prediction quiet = model_of(hardly_communicating).predict(on_nodes_of_four(64, 50));

  EXPECT_EQ(noisy.trust, Trust::refused);
  EXPECT_EQ(noisy.reason, "GPUs");
  EXPECT_GT(noisy.seconds, 0);
  EXPECT_LT(quiet.uncertainty(), 0.15);
  EXPECT_EQ(quiet.trust, Trust::extrapolated);
}

TEST(FittedModel, IsLessSureTheFartherItExtrapolatesWhereTheFormulaIsWrong) {
  std::vector<StepObservation> observations = steps(16, 1, 0.02, 1);
  // A switch that many GPUs congest, which the formula knows nothing of.
  for (StepObservation& observation : observations)
    observation.seconds *= 1 + std::pow(observation.at.gpus / 16.0, 4);

  const FittedModel congested = model_of(observations);
  const FittedModel right = model_of(steps(16, 1, 0.02, 1));

  EXPECT_GT(congested.growth(), 0.15);
  EXPECT_LT(right.growth(), 0.10);
  EXPECT_GT(congested.predict(on_nodes_of_four(32, 64)).uncertainty(), 0.25);
  EXPECT_GT(congested.predict(on_nodes_of_four(64, 64)).uncertainty(), 0.5);
}

TEST(FittedModel, RefusesALevelOfTheMachineThatWasNeverMeasured) {
  const FittedModel one_node = model_of(steps(4, 2, 0.001, 1));
  const FittedModel one_gpu = model_of(steps(1, 2, 0.001, 1));

  EXPECT_EQ(one_node.predict(on_nodes_of_four(8, 50)).trust, Trust::refused);
  EXPECT_EQ(one_node.predict(on_nodes_of_four(8, 50)).reason, "nodes");
  EXPECT_EQ(one_gpu.predict(on_nodes_of_four(2, 50)).trust, Trust::refused);
}

}  // namespace
}  // namespace multicard
