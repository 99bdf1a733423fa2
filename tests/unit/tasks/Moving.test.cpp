// A run that is moved in memory between communicators of different sizes, in the middle of epochs.
#include <map>

#include "language_run.hpp"
#include "tasks/MovableRun.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

/// The first ranks of the world, of which this rank is one or not.
struct Group {
  explicit Group(int num_ranks)
      : size(num_ranks), member(world().rank() < num_ranks), ranks(world().split(member ? 0 : 1, world().rank())) {}

  int size;
  bool member;
  Communicator ranks;
};

/// Steps to do on a number of ranks.
struct Stage {
  int num_ranks;
  std::int64_t num_steps;
};

struct Outcome {
  RunSummary summary;
  RankRows rows;
  NamedTensors state;
};

Outcome finish(TaskRun& training) {
  RunResult result = training.finish(nullptr);
  if (result.failure) throw Error(*result.failure);
  NamedTensors state;
  for (const NamedTensor& entry : training.task().model_part().tensors)
    state.push_back({entry.name, entry.tensor.detach().clone()});
  return {result.summary, result.rows, state};
}

const TaskRunOptions kQuiet{Verbosity::quiet, std::nullopt, false};

/// Collective over the world. The outcome as the rank that ends the run has it.
Outcome move_through(const RunOptions& options, const std::vector<Stage>& stages) {
  std::map<int, Group> groups;  // the same communicator for the same size
  MovableRun movable(options, "", world(), kQuiet);
  for (const Stage& stage : stages) {
    const Group& group = groups.try_emplace(stage.num_ranks, stage.num_ranks).first->second;
    movable.move_to(group.member ? std::optional(group.ranks) : std::nullopt);
    if (movable.run()) movable.run()->advance(stage.num_steps, nullptr);
  }
  return movable.run() ? finish(*movable.run()) : Outcome{};
}

/// The same through the files of checkpoints.
Outcome resume_through(RunOptions options, const std::vector<Stage>& stages) {
  options.run.keep_checkpoints = 1;
  options.run.checkpoint_every = 0;
  Outcome outcome;
  std::int64_t done = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const Group group(stages[i].num_ranks);
    if (group.member) {
      const std::optional<std::string> newest = CheckpointStore(options.run.output, 1).newest();
      TaskRun training(options, "", group.ranks, {Verbosity::quiet, i == 0 ? std::nullopt : newest, true});
      training.advance(stages[i].num_steps, nullptr);
      outcome = finish(training);
      done += stages[i].num_steps;
    }
    world().barrier();
  }
  return outcome;
}

void expect_equal_bits(const Outcome& a, const Outcome& b) {
  for (const char* metric : {"train_loss", "grad_norm", "learning_rate"}) {
    EXPECT_EQ(a.summary.metrics.at(metric).values, b.summary.metrics.at(metric).values) << metric;
    EXPECT_EQ(a.summary.metrics.at(metric).steps, b.summary.metrics.at(metric).steps) << metric;
  }
  ASSERT_FALSE(a.state.empty());
  ASSERT_EQ(a.state.size(), b.state.size());
  for (std::size_t i = 0; i < a.state.size(); ++i)
    EXPECT_TRUE(a.state[i].tensor.equal(b.state[i].tensor)) << a.state[i].name;
}

void expect_near(const Outcome& a, const Outcome& b, double tolerance) {
  const auto& x = a.summary.metrics.at("train_loss").values;
  const auto& y = b.summary.metrics.at("train_loss").values;
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << i;
}

/// Every rank that ever ran has its row, with a value for each step it took part in.
void expect_rows(const Outcome& outcome, const std::vector<Stage>& stages, std::int64_t rows_per_step) {
  std::map<int, RankRecord> all = outcome.rows;
  std::int64_t num_steps = 0;
  for (const Stage& stage : stages)
    num_steps += stage.num_steps;
  std::vector<std::int64_t> samples(static_cast<std::size_t>(num_steps));
  for (const auto& [row, record] : all) {
    ASSERT_EQ(record.samples.size(), samples.size()) << "row " << row;
    for (std::size_t step = 0; step < samples.size(); ++step)
      samples[step] += record.samples[step];
  }
  EXPECT_EQ(samples, std::vector<std::int64_t>(static_cast<std::size_t>(num_steps), rows_per_step));
  ASSERT_EQ(outcome.summary.segments.size(), stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i)
    EXPECT_EQ(outcome.summary.segments[i].ranks, stages[i].num_ranks);
}

const std::vector<Stage> kStages{{1, 3}, {2, 4}, {4, 4}, {3, 4}, {1, 5}};

/// 24 rows in batches of 8: epochs of 3 steps, so that every move but the first is inside one.
RunOptions image_options(const ScratchFolder& scratch) {
  RunOptions options = test::trained_start(scratch);
  options.model.freeze_batch_norm = true;
  options.data.limit = 24;
  options.data.test.reset();
  options.run.epochs = 1;
  options.run.steps = 20;
  options.parallel.bucket_mb = 0.2;
  options.data.image_size = 32;
  return options;
}

TEST(Moving, ImagesAreTrainedAsFromFilesBitForBitAndAsByARunThatStays) {
  const ScratchFolder scratch;
  test::write_shards(scratch);
  for (const char* strategy : {"ddp-ds", "ddp", "dp"}) {
    SCOPED_TRACE(strategy);
    RunOptions options = image_options(scratch);
    options.parallel.strategy = value_of<StrategyName>(strategy, kStrategyWords).value();
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

TEST(Moving, ARankThatStaysKeepsItsModelAndCommunicatorsTheirCollectives) {
  const ScratchFolder scratch;
  test::write_oracle_shards(scratch);
  const Group all(4), two(2);
  MovableRun movable(test::oracle_recipe(scratch, "fp64"), "", world(), kQuiet);
  movable.move_to(all.ranks);
  const std::shared_ptr<Model> model = movable.run()->model();
  const std::shared_ptr<TensorCollectives> collectives = movable.run()->collectives();

  movable.move_to(two.member ? std::optional(two.ranks) : std::nullopt);
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

TEST(Moving, SynchronisedBatchNormKeepsItsStatistics) {
  const ScratchFolder scratch;
  test::write_shards(scratch);
  const std::vector<Stage> stages{{2, 3}, {4, 3}, {1, 3}};
  RunOptions options = image_options(scratch);
  options.model.freeze_batch_norm = false;
  options.parallel.sync_batch_norm = true;
  options.run.steps = 9;
  const Outcome moved = move_through(options, stages), stayed = move_through(options, {{1, 9}});
  options.run.output = scratch / "files";
  const Outcome resumed = resume_through(options, stages);

  if (!world().is_root()) return;
  expect_equal_bits(moved, resumed);
  expect_near(moved, stayed, 1e-7);
}

TEST(Moving, ARunThatNoRankHasWaitsInMemory) {
  const ScratchFolder scratch;
  test::write_oracle_shards(scratch);
  const RunOptions options = test::oracle_recipe(scratch, "fp64");
  const Group two(2), one(1);
  MovableRun movable(options, "", world(), kQuiet);
  movable.move_to(two.member ? std::optional(two.ranks) : std::nullopt);
  if (movable.run()) movable.run()->advance(3, nullptr);
  movable.move_to(std::nullopt);
  EXPECT_EQ(movable.run(), nullptr);
  movable.move_to(one.member ? std::optional(one.ranks) : std::nullopt);

  if (!movable.run()) return;
  EXPECT_EQ(movable.run()->num_completed(), 3);
  movable.run()->advance(1, nullptr);
  EXPECT_EQ(finish(*movable.run()).summary.metrics.at("train_loss").values.size(), 4u);
}

TEST(Moving, AMoveBeforeTheFirstStepLeavesNoTrace) {
  const ScratchFolder scratch;
  test::write_shards(scratch);
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
  test::write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.run.global_batch = 2;
  const Group two(2), all(4);
  MovableRun movable(options, "", world(), kQuiet);
  movable.move_to(two.member ? std::optional(two.ranks) : std::nullopt);
  if (movable.run()) movable.run()->advance(1, nullptr);

  EXPECT_THROW(movable.move_to(all.ranks), Error) << "4 ranks cannot share 2 rows";
  movable.move_to(two.member ? std::optional(two.ranks) : std::nullopt);
  if (movable.run()) {
    EXPECT_EQ(movable.run()->num_completed(), 1);
  }
}

TEST(Moving, TakesTheMovingAverageAndTheLossScaleAlong) {
  const ScratchFolder scratch;
  test::write_shards(scratch);
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
  test::write_oracle_shards(scratch);
  for (const char* strategy : {"ddp-ds", "ddp", "dp"}) {
    SCOPED_TRACE(strategy);
    RunOptions options = test::oracle_recipe(scratch, "fp64");
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
