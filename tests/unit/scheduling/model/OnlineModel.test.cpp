#include "scheduling/model/OnlineModel.hpp"

#include <gtest/gtest.h>

#include "Synthetic.hpp"
#include "base/Error.hpp"

namespace multicard {
namespace {

using namespace test;

OnlineOptions few_resamples() {
  OnlineOptions options;
  options.prediction.num_resamples = 10;
  return options;
}

/// Adds `count` steps at a point, each `factor` times as long as the true parameters say, with 2 % noise.
void run(OnlineModel& model, const StepPoint& at, int count, double factor, Random& random) {
  for (int i = 0; i < count; ++i)
    model.add({at, factor * seconds_at(StepTimeModel(), true_values(), at) * std::exp(0.02 * random.normal())});
}

TEST(OnlineModel, IsDueWhenAPointHasBeenMeasuredAndLearnsFromIt) {
  OnlineModel model(std::make_shared<StepTimeModel>(), few_resamples());
  Random random(1);
  run(model, on_nodes_of_four(1, 16), 15, 1, random);
  EXPECT_FALSE(model.is_due());
  EXPECT_EQ(model.model(), nullptr);

  for (const int gpus : {1, 2, 4, 8})
    for (const double rows : {16, 64})
      run(model, on_nodes_of_four(gpus, rows), 16, 1, random);
  EXPECT_TRUE(model.is_due());
  const FittedModel& fitted = model.refit();

  EXPECT_FALSE(model.is_due());
  EXPECT_LT(fitted.error(), 0.03);
}

TEST(OnlineModel, RemembersBoundedlyMany) {
  OnlineOptions options = few_resamples();
  options.max_points = 5;
  options.steps_per_point = 4;
  OnlineModel model(std::make_shared<StepTimeModel>(), options);
  Random random(1);

  for (int rows = 1; rows <= 50; ++rows)
    run(model, on_nodes_of_four(1, rows), 20, 1, random);

  const std::vector<StepObservation> kept = model.observations();
  EXPECT_EQ(kept.size(), 20U) << "4 steps of 5 points";
  for (const StepObservation& observation : kept)
    EXPECT_GE(observation.at.rows_per_gpu, 46);
}

TEST(OnlineModel, AsksForAFitAfterADriftAndThenPredictsTheNewState) {
  OnlineModel model(std::make_shared<StepTimeModel>(), few_resamples());
  Random random(1);
  const StepPoint at = on_nodes_of_four(2, 64);
  for (const int gpus : {1, 4})
    run(model, on_nodes_of_four(gpus, 64), 16, 1, random);
  run(model, at, 16, 1, random);
  model.refit();
  run(model, at, 60, 1, random);
  ASSERT_FALSE(model.is_due());
  const double before = model.model()->seconds(at);
  const double other = model.model()->seconds(on_nodes_of_four(4, 64));

  run(model, at, 40, 1.3, random);
  EXPECT_NE(model.drift(), Drift::none);
  ASSERT_TRUE(model.is_due());
  model.refit();

  EXPECT_NEAR(model.model()->seconds(at) / before, 1.3, 0.05);
  EXPECT_NEAR(model.model()->seconds(on_nodes_of_four(4, 64)) / other, 1.3, 0.05);
  EXPECT_EQ(model.drift(), Drift::none);
}

TEST(OnlineModel, LooksForDriftAfreshOnOtherGpus) {
  OnlineModel model(std::make_shared<StepTimeModel>(), few_resamples());
  Random random(1);
  for (const int gpus : {1, 2, 4})
    run(model, on_nodes_of_four(gpus, 64), 16, 1, random);
  model.refit();
  run(model, on_nodes_of_four(4, 64), 30, 1, random);
  run(model, on_nodes_of_four(4, 64), 30, 1.5, random);
  ASSERT_NE(model.drift(), Drift::none);

  run(model, on_nodes_of_four(2, 64), 1, 1, random);

  EXPECT_EQ(model.drift(), Drift::none);
}

TEST(OnlineModel, RefusesStepsWithoutTime) {
  OnlineModel model(std::make_shared<StepTimeModel>());

  EXPECT_THROW(model.add({{}, 0.0}), DataError);
}

}  // namespace
}  // namespace multicard
