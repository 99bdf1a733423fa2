// A whole run from shards: any number of ranks trains what one rank trains.
#include "support/task_run.hpp"

namespace multicard {
namespace {

using test::expect_same;
using test::ScratchFolder;
using test::train;
using test::Trained;
using test::trained_start;
using test::world;
using test::write_shards;

TEST(TaskRun, FrozenBatchNormMakesAnyNumberOfRanksTheSame) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.model.freeze_batch_norm = true;

  const Trained together = train(options, world()), alone = train(options, Communicator::null());

  EXPECT_EQ(together.result.summary.metrics.at("train_loss").values.size(), 10u);
  expect_same(together, alone, 1e-9);
}

TEST(TaskRun, SynchronisedBatchNormMakesAnyNumberOfRanksTheSame) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.parallel.sync_batch_norm = true;
  options.run.epochs = 1;

  const Trained together = train(options, world()), alone = train(options, Communicator::null());

  expect_same(together, alone, 1e-7);
}

TEST(TaskRun, MicroBatchesOfUnevenBlocksMeetInSynchronisedBatchNorm) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.parallel.sync_batch_norm = true;
  options.run.micro_batch = 2;  // 8 and 5 rows over 1 to 4 ranks: ranks need different numbers of micro-batches
  options.run.epochs = 1;

  const Trained trained = train(options, world());

  EXPECT_EQ(trained.result.summary.status, "complete");
  EXPECT_EQ(trained.result.summary.metrics.at("train_loss").values.size(), 5u);
}

TEST(TaskRun, MicroBatchesChangeNothingWithFrozenBatchNorm) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.model.freeze_batch_norm = true;
  options.run.epochs = 1;

  const Trained whole = train(options, world());
  options.run.micro_batch = 1;
  const Trained accumulated = train(options, world());

  expect_same(accumulated, whole, 1e-9);
}

TEST(TaskRun, EverySampleCountsOnceAnEpoch) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.precision = Precision::fp32;

  const Trained trained = train(options, world());

  std::int64_t samples = 0;
  for (const std::int64_t count : trained.result.record.samples)
    samples += count;
  EXPECT_EQ(world().allreduce(samples, ReduceOp::sum), 2 * 37);
  EXPECT_EQ(trained.result.summary.status, "complete");
  if (world().size() > 1) {  // the parameters that all ranks start with count too
    EXPECT_GT(trained.result.record.communication.at("broadcast").calls, 0);
  }
}

TEST(TaskRun, ADivergedLossIsAFailureOfAllRanks) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.precision = Precision::fp32;
  options.optimizer.learning_rate = 1e30;

  const Trained trained = train(options, world());

  ASSERT_TRUE(trained.result.failure);
  EXPECT_EQ(trained.result.failure->code(), ExitCode::numerical);
  EXPECT_EQ(trained.result.summary.status, "failed");
}

TEST(TaskRun, AFiniteButDivergedLossEndsARunThatSaysSo) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.precision = Precision::fp32;
  options.optimizer.learning_rate = 300;
  options.run.epochs = 4;
  const Trained warned = train(options, world());
  options.run.on_divergence = OnDivergence::stop;

  const Trained stopped = train(options, world());

  ASSERT_FALSE(warned.result.failure) << warned.result.failure->what();
  ASSERT_TRUE(warned.result.summary.integers.contains("diverged_step"));
  ASSERT_TRUE(stopped.result.failure);
  EXPECT_EQ(stopped.result.failure->code(), ExitCode::numerical);
  EXPECT_NE(std::string(stopped.result.failure->what()).find("training has diverged (the training loss rose from"),
            std::string::npos)
      << stopped.result.failure->what();
  EXPECT_EQ(stopped.result.summary.integers.at("diverged_step"), warned.result.summary.integers.at("diverged_step"));
}

TEST(TaskRun, RefusesMoreRanksThanRows) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.run.global_batch = world().size() - 1;
  if (world().size() == 1) return;

  EXPECT_THROW(train(options, world()), Error);
}

}  // namespace
}  // namespace multicard
