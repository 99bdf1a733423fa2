// The strategies' verbs on a model that is computed by hand.
#include "train/Strategy.hpp"

#include <limits>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "linear_model.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::LinearData;
using test::LinearModel;
using test::world;

constexpr double kRate = 0.1;
/// ddp-ds whose ranks share the optimizer's state; of two weights only rank 0 has any.
constexpr const char* kSharded = "sharded";

/// A strategy with what it works on.
struct Training {
  explicit Training(const std::string& name, const OptimizerOptions& optimizer = {}, double start = 0.5)
      : model(start), collectives(make_collectives(Backend::automatic, world(), at::kCPU)), clock(at::kCPU) {
    ParallelOptions parallel;
    parallel.shard = name == kSharded ? Shard::optimizer : Shard::none;
    parallel.strategy = value_of<StrategyName>(name == kSharded ? "ddp-ds" : name, kStrategyWords).value();
    strategy = make_strategy(parallel, optimizer, {model, data, *collectives});
    strategy->synchronise();
    strategy->start_reading(0, 100);
  }

  /// One step. Returns the status of all ranks.
  std::vector<double> step(LossScaler* scaler = nullptr) {
    clock.begin_step();
    const Batch batch = strategy->next(clock);
    strategy->begin_step(batch.step);
    const StepStatus status(at::kCPU);
    if (batch.num_rows > 0) {
      const at::Tensor loss = model.forward(batch).value;
      strategy->backward(scaler ? scaler->scale(loss) : loss, /*is_last=*/true);
    }
    strategy->finish_gradients();
    strategy->prepare_update(scaler, status);
    const auto sum = strategy->start_all_reduce(status);
    strategy->apply_update(kRate);
    sum->wait();
    strategy->share_parameters();
    clock.end_step();
    const double* values = status.values().const_data_ptr<double>();
    return {values, values + StepStatus::kNumFields};
  }

  LinearData data{40, 8};
  LinearModel model;
  std::unique_ptr<TensorCollectives> collectives;
  StepClock clock;
  std::unique_ptr<Strategy> strategy;
};

/// By hand: the gradient of step `step` at `weight`.
std::array<double, 2> gradient_of(std::int64_t step, const std::array<double, 2>& weight) {
  std::array<double, 2> gradient{};
  for (std::int64_t i = 0; i < 8; ++i) {
    const double x = static_cast<double>((step * 8 + i) % 40) / 40;
    const double error = weight[0] + weight[1] * x - (3 - 2 * x);
    gradient[0] += error / 8;
    gradient[1] += error * x / 8;
  }
  return gradient;
}

class EachStrategy : public testing::TestWithParam<const char*> {};

TEST_P(EachStrategy, UpdatesAsByHand) {
  Training training(GetParam());
  std::array<double, 2> weight{0.5, 0.5};

  for (std::int64_t step = 0; step < 7; ++step) {
    const std::array<double, 2> gradient = gradient_of(step, weight);
    const std::vector<double> status = training.step();
    for (std::size_t i = 0; i < 2; ++i) {
      weight[i] -= kRate * gradient[i];
      EXPECT_NEAR(training.model.weight()[static_cast<std::int64_t>(i)].item<double>(), weight[i], 1e-14);
    }
    EXPECT_NEAR(status[StepStatus::kGradientNorm], std::hypot(gradient[0], gradient[1]), 1e-14) << "told once";
    EXPECT_EQ(status[StepStatus::kFoundInf], 0);
  }
}

TEST_P(EachStrategy, GivesTheModelItsReplicaAtEveryStep) {
  Training training(GetParam());
  training.step();
  training.step();

  using Begun = std::vector<std::pair<std::int64_t, int>>;
  EXPECT_EQ(training.model.begun(), (Begun{{0, world().rank()}, {1, world().rank()}}));
}

TEST_P(EachStrategy, StartsWithTheParametersAndBuffersOfTheRoot) {
  Training training(GetParam(), {}, 0.5 + world().rank());
  EXPECT_EQ(training.model.weight()[0].item<double>(), 0.5);

  training.model.buffer().fill_(world().rank() + 7);
  training.strategy->share_buffers();
  EXPECT_EQ(training.model.buffer().item<double>(), 7);
}

TEST_P(EachStrategy, ClipsToTheNormOfTheWholeGradient) {
  OptimizerOptions optimizer;
  optimizer.clip_norm = 0.01;
  Training training(GetParam(), optimizer);
  const at::Tensor before = training.model.weight().detach().clone();
  const std::vector<double> status = training.step();

  EXPECT_GT(status[StepStatus::kGradientNorm], 1) << "the norm before clipping is told";
  const double moved = (training.model.weight().detach() - before).norm().item<double>();
  EXPECT_NEAR(moved, kRate * 0.01, 1e-7);
}

TEST_P(EachStrategy, LeavesOutUpdatesThatAreNotFiniteOnAllRanks) {
  Training training(GetParam());
  LossScaler scaler(at::kCPU);
  training.model.set_loss_factor(std::numeric_limits<double>::infinity());
  const std::vector<double> status = training.step(&scaler);

  EXPECT_EQ(status[StepStatus::kFoundInf], 1);
  EXPECT_EQ(training.model.weight()[0].item<double>(), 0.5);
  EXPECT_EQ(training.model.weight()[1].item<double>(), 0.5);
}

TEST_P(EachStrategy, TakesTheScaleOutOfTheGradients) {
  Training scaled(GetParam()), plain(GetParam());
  LossScaler scaler(at::kCPU);
  const std::vector<double> status = scaled.step(&scaler), expected = plain.step();

  EXPECT_EQ(status[StepStatus::kGradientNorm], expected[StepStatus::kGradientNorm]) << "a power of two is exact";
  EXPECT_TRUE(scaled.model.weight().equal(plain.model.weight()));
}

TEST_P(EachStrategy, HasTheOptimizerWhereItUpdates) {
  OptimizerOptions optimizer;
  optimizer.name = OptimizerName::adamw;
  Training training(GetParam(), optimizer);
  const bool updates = GetParam() != std::string("dp") || world().is_root();

  EXPECT_EQ(training.strategy->updates(), updates);
  EXPECT_EQ(training.strategy->optimizer_state().size(), updates ? 3u : 0u);
}

INSTANTIATE_TEST_SUITE_P(Strategies, EachStrategy, testing::Values("dp", "ddp", "ddp-ds", kSharded));

TEST(Strategy, TheLargestShardHoldsForAnyNumberOfRows) {
  Training training("ddp-ds");
  for (std::int64_t rows = 1; rows < 20; ++rows) {
    std::int64_t most = 0;
    for (int rank = 0; rank < world().size(); ++rank)
      most = std::max(most, block_of(rows, rank, world().size()).count);
    EXPECT_EQ(training.strategy->largest_shard(rows), most) << rows;
  }
}

}  // namespace
}  // namespace multicard
