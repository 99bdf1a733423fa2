// The trainer's own decisions: what is known when, what stops a training, what is evaluated.
#include "train/Trainer.hpp"

#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "linear_model.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::LinearData;
using test::LinearModel;
using test::world;

/// Everything around a trainer of the linear model.
struct Training {
  explicit Training(
      TrainerOptions options = {}, std::int64_t global_batch = 8, double ema_decay = 0,
      const std::function<void(LinearModel&)>& prepare = [](LinearModel&) {})
      : data(40, global_batch),
        collectives(make_collectives(Backend::automatic, world(), at::kCPU)),
        strategy(make_strategy({}, {}, {model, data, *collectives})),
        schedule(ScheduleOptions{}, 0.1, 10),
        clock(at::kCPU),
        recorder(clock.name()) {
    strategy->synchronise();
    prepare(model);
    if (ema_decay > 0) average.emplace(model.parameters(), ema_decay);
    if (options.num_steps == 0) options.num_steps = 10;
    trainer = std::make_unique<Trainer>(
        TrainerParts{model, *strategy, schedule, clock, recorder, nullptr, average ? &*average : nullptr}, options);
  }

  LinearData data;
  LinearModel model;
  std::unique_ptr<TensorCollectives> collectives;
  std::unique_ptr<Strategy> strategy;
  Schedule schedule;
  StepClock clock;
  Recorder recorder;
  std::optional<ExponentialMovingAverage> average;
  std::unique_ptr<Trainer> trainer;
};

TEST(Trainer, LearnsALine) {
  TrainerOptions options;
  options.num_steps = 400;
  Training training(options);
  while (!training.trainer->finished())
    training.trainer->step();
  training.trainer->finish();

  const std::vector<double>& losses = training.recorder.metrics().at("train_loss").values;
  EXPECT_EQ(losses.size(), 400u);
  EXPECT_LT(losses.back(), 0.02 * losses.front());
  EXPECT_EQ(training.trainer->num_completed(), 400);
}

TEST(Trainer, ResultsTrailByTheLagAndCanBeCaughtUp) {
  TrainerOptions options;
  options.results_lag = 1;
  Training training(options);

  training.trainer->step();
  EXPECT_FALSE(training.trainer->last_result());
  training.trainer->step();
  ASSERT_TRUE(training.trainer->last_result());
  EXPECT_EQ(training.trainer->last_result()->step, 0);
  training.trainer->read_all_results();
  EXPECT_EQ(training.trainer->last_result()->step, 1);
}

TEST(Trainer, ARequestOfOneRankIsKnownToAllAtTheSameStep) {
  Training training;
  const bool asks = world().rank() == world().size() - 1;

  training.trainer->step();
  EXPECT_FALSE(training.trainer->last_result()->requests.stop);
  training.trainer->step({asks, false});
  EXPECT_TRUE(training.trainer->last_result()->requests.stop);
  EXPECT_FALSE(training.trainer->last_result()->requests.checkpoint);
  training.trainer->step({false, asks});
  EXPECT_FALSE(training.trainer->last_result()->requests.stop);
  EXPECT_TRUE(training.trainer->last_result()->requests.checkpoint);
}

TEST(Trainer, ALossThatIsNotFiniteEndsAllRanks) {
  Training training;
  if (world().is_root()) training.model.set_loss_factor(std::numeric_limits<double>::quiet_NaN());

  try {
    training.trainer->step();
    FAIL() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::numerical);
    EXPECT_EQ(error.scope(), Scope::all_ranks);
  }
}

TEST(Trainer, MicroBatchesAddUp) {
  TrainerOptions options;
  options.micro_batch = 1;
  Training whole, parts(options);
  for (int step = 0; step < 5; ++step) {
    whole.trainer->step();
    parts.trainer->step();
  }

  EXPECT_LT((whole.model.weight() - parts.model.weight()).abs().max().item<double>(), 1e-14);
  EXPECT_GT(parts.model.num_forwards(), whole.model.num_forwards());
}

TEST(Trainer, NamedSumsOfAllRanksAndMicroBatchesReachTheMetrics) {
  for (const std::int64_t global_batch : {8, 1}) {  // with one row some ranks have none
    for (const std::int64_t lag : {0, 1}) {
      TrainerOptions options;
      options.micro_batch = 1;
      options.results_lag = lag;
      Training training(options, global_batch, 0, [](LinearModel& model) { model.carry_sums(); });
      training.trainer->step();
      training.trainer->step();
      training.trainer->read_all_results();

      const auto& metrics = training.recorder.metrics();
      EXPECT_EQ(metrics.count("rows"), 0u);
      for (const std::int64_t step : {0, 1}) {
        const auto place = static_cast<std::size_t>(step);
        double expected = 0;
        for (const std::int64_t row : training.data.sampler().rows(step))
          expected += static_cast<double>(row) / 40 / static_cast<double>(global_batch);
        EXPECT_NEAR(metrics.at("mean_position").values.at(place), expected, 1e-14);
        EXPECT_NEAR(metrics.at("share").values.at(place), 1, 1e-14) << "a step does not begin where one ended";
        EXPECT_EQ(training.recorder.record().counts.at("rows").at(place), training.recorder.record().samples.at(place));
      }
      ASSERT_EQ(training.trainer->last_result()->sums.size(), 2u);
      EXPECT_EQ(training.trainer->last_result()->sums[0].first, "share");
    }
  }
}

TEST(Trainer, ASumThatTheModelDoesNotNameIsADefect) {
  Training training;  // asks for the sums before the model has any
  training.model.carry_sums();

  EXPECT_THROW(training.trainer->step(), std::logic_error);
}

TEST(Trainer, RanksThatMeetInsideAModelAllRunAsManyForwards) {
  TrainerOptions options;
  options.micro_batch = 2;
  Training training(options, /*global_batch=*/5);  // uneven shards, and on more ranks empty micro-batches
  training.model.run_on_empty_batches();
  training.trainer->step();

  const int mine = training.model.num_forwards();
  EXPECT_EQ(world().allreduce(mine, ReduceOp::max), world().allreduce(mine, ReduceOp::min));
}

TEST(Trainer, EvaluatesTheMovingAverageAndPutsTheWeightsBack) {
  Training training({}, 8, /*ema_decay=*/0.9);
  for (int step = 0; step < 3; ++step)
    training.trainer->step();
  const at::Tensor weights = training.model.weight().detach().clone();
  const double averaged = training.average->state().front().tensor.sum().item<double>();

  const Evaluation found = training.trainer->evaluate([&] { return training.model.evaluate(training.data, world()); });

  EXPECT_EQ(found.loss, averaged);
  EXPECT_NE(found.loss, weights.sum().item<double>());
  EXPECT_TRUE(training.model.weight().equal(weights));
  EXPECT_EQ(training.recorder.metrics().at("eval_loss").steps, std::vector<std::int64_t>{3});
}

TEST(Trainer, CallsBackBeforeWeightsChange) {
  Training training;
  std::vector<double> seen;
  TrainerOptions options;
  options.num_steps = 3;
  Trainer trainer({training.model, *training.strategy, training.schedule, training.clock, training.recorder, nullptr,
                   nullptr, [&] { seen.push_back(training.model.weight()[0].item<double>()); }},
                  options);
  const double start = training.model.weight()[0].item<double>();
  trainer.step();

  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen.front(), start);
  EXPECT_NE(training.model.weight()[0].item<double>(), start);
}

}  // namespace
}  // namespace multicard
