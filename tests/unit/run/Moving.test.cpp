// A run that is moved in memory between communicators of different sizes, in the middle of epochs.
#include "support/moving.hpp"

#include <limits>
#include <string>

namespace multicard {
namespace {

using namespace test;

const std::vector<Stage> kStages{{1, 3}, {2, 4}, {4, 4}, {3, 4}, {1, 5}};

TEST(Moving, ImagesAreTrainedAsFromFilesBitForBitAndAsByARunThatStays) {
  const ScratchFolder scratch;
  write_shards(scratch);
  for (const char* strategy : {"ddp-ds", "ddp", "dp", "sharded"}) {
    SCOPED_TRACE(strategy);
    RunOptions options = image_options(scratch);
    options.parallel.strategy = value_of<StrategyName>(strategy, kStrategyWords).value_or(StrategyName::ddp_ds);
    if (strategy == std::string("sharded")) options.parallel.shard = Shard::optimizer;
    const Outcome moved = move_through(options, kStages), stayed = move_through(options, {{1, 20}});
    options.run.output = scratch / strategy;
    const Outcome resumed = resume_through(options, kStages);

    if (!world().is_root()) continue;
    ASSERT_EQ(moved.summary.metrics.at("train_loss").values.size(), 20u);
    expect_equal_bits(moved, resumed);
    expect_near(moved, stayed, 1e-9);
    expect_rows(moved, kStages, 8);
    EXPECT_EQ(moved.summary.status, "complete");
  }
}

TEST(Moving, MomentsOf8BitsMoveAsThroughFilesBitForBit) {
  const ScratchFolder scratch;
  write_shards(scratch);
  for (const char* strategy : {"ddp-ds", "dp"}) {
    SCOPED_TRACE(strategy);
    RunOptions options = image_options(scratch);
    options.parallel.strategy = value_of<StrategyName>(strategy, kStrategyWords).value();
    options.optimizer = {};
    options.optimizer.name = OptimizerName::adamw8bit;
    options.optimizer.learning_rate = 1e-4;
    const Outcome moved = move_through(options, kStages);
    options.run.output = scratch / strategy;
    const Outcome resumed = resume_through(options, kStages);

    if (!world().is_root()) continue;
    ASSERT_EQ(moved.summary.metrics.at("train_loss").values.size(), 20u);
    expect_equal_bits(moved, resumed);
  }
}

TEST(Moving, ErrorsOfCompressedGradientsMove) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.parallel.powersgd_rank = 2;
  const Outcome moved = move_through(options, kStages), stayed = move_through(options, {{1, 20}});
  options.run.output = scratch / "files";
  const Outcome resumed = resume_through(options, kStages);

  if (!world().is_root()) return;
  expect_equal_bits(moved, resumed);
  expect_near(moved, stayed, 1e-6);
}

TEST(Moving, ARankThatStaysKeepsItsModelAndCommunicatorsTheirCollectives) {
  const ScratchFolder scratch;
  write_oracle_shards(scratch);
  const Group all(4), two(2);
  MovableRun movable(oracle_recipe(scratch, "fp64"), "", world(), kQuiet);
  movable.move_to(all.ranks);
  const std::shared_ptr<Model> model = movable.run()->model();
  const std::shared_ptr<TensorCollectives> collectives = movable.run()->collectives();

  movable.move_to(two.mine());
  ASSERT_EQ(movable.run() != nullptr, two.member);
  if (movable.run()) {
    EXPECT_EQ(movable.run()->model(), model);
  }
  movable.move_to(all.ranks);
  EXPECT_EQ(movable.run()->model() == model, two.member);
  EXPECT_EQ(movable.run()->collectives(), collectives);
  movable.run()->advance(2, nullptr);
  EXPECT_EQ(movable.run()->num_completed(), 2);
}

TEST(Moving, CollectivesAreReleasedTwoMovesAfterTheirLastUse) {
  const ScratchFolder scratch;
  write_oracle_shards(scratch);
  const Group all(4), two(2);
  MovableRun movable(oracle_recipe(scratch, "fp64"), "", world(), kQuiet);
  movable.move_to(all.ranks);
  const std::weak_ptr<TensorCollectives> of_all = movable.run()->collectives();
  movable.move_to(two.mine());
  std::weak_ptr<TensorCollectives> of_two;
  if (movable.run()) of_two = movable.run()->collectives();
  EXPECT_FALSE(of_all.expired()) << "it may go back";
  movable.move_to(std::nullopt);
  EXPECT_TRUE(of_all.expired());
  EXPECT_EQ(of_two.expired(), !two.member);
  movable.move_to(all.ranks);
  EXPECT_TRUE(of_two.expired());
  movable.run()->advance(1, nullptr);
  EXPECT_EQ(movable.run()->num_completed(), 1);
}

TEST(Moving, SynchronisedBatchNormKeepsItsStatistics) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.model.freeze_batch_norm = false;
  options.parallel.sync_batch_norm = true;
  const Outcome moved = move_through(options, kStages), stayed = move_through(options, {{1, 20}});
  options.run.output = scratch / "files";
  const Outcome resumed = resume_through(options, kStages);

  if (!world().is_root()) return;
  expect_equal_bits(moved, resumed);
  expect_near(moved, stayed, 1e-9);
}

TEST(Moving, ARunThatNoRankHasWaitsInMemory) {
  const ScratchFolder scratch;
  write_oracle_shards(scratch);
  const RunOptions options = oracle_recipe(scratch, "fp64");
  const Group two(2), one(1);
  MovableRun movable(options, "", world(), kQuiet);
  movable.move_to(two.mine());
  if (movable.run()) movable.run()->advance(3, nullptr);
  movable.move_to(std::nullopt);
  EXPECT_EQ(movable.run(), nullptr);
  movable.move_to(one.mine());

  if (!movable.run()) return;
  EXPECT_EQ(movable.run()->num_completed(), 3);
  movable.run()->advance(1, nullptr);
  EXPECT_EQ(finish(*movable.run()).summary.metrics.at("train_loss").values.size(), 4u);
}

TEST(Moving, AMoveBeforeTheFirstStepLeavesNoTrace) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.data.test = scratch / "test*.h5";
  options.evaluate.at_start = true;
  options.run.steps = 2;
  const Outcome moved = move_through(options, {{4, 0}, {1, 2}});

  if (!world().is_root()) return;
  EXPECT_EQ(moved.rows.size(), 1u);
  EXPECT_EQ(moved.summary.integers.at("ranks"), 1);
  EXPECT_EQ(moved.summary.segments.size(), 1u);
  EXPECT_EQ(moved.summary.metrics.at("eval_loss").steps, (std::vector<std::int64_t>{0, 2}));
}

TEST(Moving, WhatTheRanksOfARunFindIsAnErrorOfAll) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.run.global_batch = 2;
  const Group two(2), all(4);
  MovableRun movable(options, "", world(), kQuiet);
  advance_on(movable, two, 1);

  EXPECT_THROW(movable.move_to(all.ranks), Error) << "4 ranks cannot share 2 rows";
  EXPECT_TRUE(movable.has_state());
  EXPECT_EQ(movable.run(), nullptr);
  movable.move_to(two.mine());
  if (movable.run()) {
    EXPECT_EQ(movable.run()->num_completed(), 1);
  }
}

TEST(Moving, ARunThatCannotLeaveItsRanksStaysThere) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.run.keep_checkpoints = 1;
  const Group two(2), all(4);
  MovableRun movable(options, "", world(), kQuiet);
  advance_on(movable, two, 1);
  if (movable.run()) {
    movable.run()->model()->parameters().front().tensor.data().fill_(std::numeric_limits<double>::infinity());
    movable.run()->checkpoint();  // which the move waits for
  }

  EXPECT_THROW(movable.move_to(all.ranks), Error) << "values that are not finite";
  EXPECT_FALSE(movable.has_state());
  EXPECT_EQ(movable.run() != nullptr, two.member);
  if (!movable.run()) return;
  const RunResult result = movable.run()->finish(nullptr);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->code(), ExitCode::numerical);
}

TEST(Moving, WhatARankAloneFindsIsAnErrorOfAll) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.run.batch_per_rank = 4;
  const Group two(2), alone(std::set<int>{1});
  MovableRun movable(options, "", world(), kQuiet);
  advance_on(movable, two, 1);

  EXPECT_THROW(movable.move_to(alone.mine()), Error) << "the batch would change";
  movable.move_to(two.mine());
  if (movable.run()) {
    EXPECT_EQ(movable.run()->num_completed(), 1);
  }
}

TEST(Moving, AllRanksKnowThatARunHasEnded) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.run.steps = 1;
  const Group two(2), all(4);
  MovableRun movable(options, "", world(), kQuiet);
  advance_on(movable, two, 1);

  EXPECT_THROW(movable.move_to(all.ranks), std::logic_error);
  if (movable.run()) {
    EXPECT_EQ(movable.run()->finish(nullptr).summary.status, "complete");
  }
}

TEST(Moving, ARequestToStopIsKeptUntilAStepHeedsIt) {
  const ScratchFolder scratch;
  write_shards(scratch);
  if (!world().is_root()) return;
  const RunOptions options = image_options(scratch);
  TaskRun before(options, "", Communicator::null(), kQuiet);
  before.advance(1, nullptr);
  TrainingState state = before.collect();
  state.stop_requested = true;

  TaskRun after(options, "", Communicator::null(), kQuiet, state);
  after.advance(0, nullptr);
  EXPECT_TRUE(after.collect().stop_requested);
}

TEST(Moving, TakesTheMovingAverageAndTheLossScaleAlong) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.precision = Precision::fp16;
  options.run.ema_decay = 0.9;
  options.data.test = scratch / "test*.h5";
  options.evaluate.every_epochs = 2;
  const Outcome moved = move_through(options, kStages);
  options.run.output = scratch / "files";
  const Outcome resumed = resume_through(options, kStages);

  if (!world().is_root()) return;
  expect_equal_bits(moved, resumed);
  for (const char* metric : {"eval_loss", "eval_accuracy", "loss_scale"})
    EXPECT_EQ(moved.summary.metrics.at(metric).values, resumed.summary.metrics.at(metric).values) << metric;
}

TEST(Moving, AdaptersAreTrainedAsFromFilesBitForBitAndAsByARunThatStays) {
  const ScratchFolder scratch;
  write_oracle_shards(scratch);
  for (const char* strategy : {"ddp-ds", "ddp", "dp"}) {
    SCOPED_TRACE(strategy);
    RunOptions options = oracle_recipe(scratch, "fp64");
    options.parallel.strategy = value_of<StrategyName>(strategy, kStrategyWords).value();
    options.data.limit = 24;  // epochs of 6 steps
    options.run.steps = 20;
    const Outcome moved = move_through(options, kStages), stayed = move_through(options, {{1, 20}});
    options.run.output = scratch / strategy;
    const Outcome resumed = resume_through(options, kStages);

    if (!world().is_root()) continue;
    expect_equal_bits(moved, resumed);
    expect_near(moved, stayed, 1e-9);
    expect_rows(moved, kStages, 4);
  }
}

}  // namespace
}  // namespace multicard
