// A whole run from shards: any number of ranks trains what one rank trains.
#include "tasks/Session.hpp"

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "data/Prepare.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

/// 37 training and 13 test rows in 3 shards: blocks and batches are uneven on every number of ranks.
void write_shards(const ScratchFolder& scratch) {
  for (const auto& [name, count] : {std::pair{"train", 37}, std::pair{"test", 13}}) {
    PrepareOptions options;
    options.format = "synthetic";
    options.size = 40;
    options.classes = 10;
    options.limit = count;
    options.num_shards = 3;
    options.output = scratch / name;
    options.quiet = true;
    prepare_images(options, world());
  }
}

RunOptions trained_start(const ScratchFolder& scratch) {
  RunOptions options;
  options.model.width = 0.25;
  options.model.dropout = 0.0;
  options.model.weights = test::source_path("tests/data/oracles/mobilenet/init.safetensors").string();
  options.data.train = scratch / "train*.h5";
  options.data.test = scratch / "test*.h5";
  options.data.image_size = 64;
  options.optimizer.learning_rate = 0.01;
  options.optimizer.momentum = 0.9;
  options.precision = "fp64";
  options.run.output = scratch / "out";
  options.run.epochs = 2;
  options.run.global_batch = 8;
  options.run.keep_checkpoints = 0;
  return options;
}

struct Trained {
  SessionResult result;
  NamedTensors state;
};

Trained train(const RunOptions& options, const Communicator& communicator) {
  Session session(options, "", communicator, {Voice::quiet, std::nullopt});
  SessionResult result = session.run(nullptr);
  return {std::move(result), session.task().network().state()};
}

void expect_same(const Trained& a, const Trained& b, double tolerance) {
  for (const char* metric : {"train_loss", "eval_loss", "eval_accuracy"}) {
    const auto& x = a.result.summary.metrics.at(metric).values;
    const auto& y = b.result.summary.metrics.at(metric).values;
    ASSERT_EQ(x.size(), y.size()) << metric;
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << metric << " " << i;
  }
  for (std::size_t i = 0; i < a.state.size(); ++i) {
    const at::Tensor x = a.state[i].tensor.detach().to(at::kDouble), y = b.state[i].tensor.detach().to(at::kDouble);
    EXPECT_LE((x - y).norm().item<double>(), tolerance * (1 + y.norm().item<double>())) << a.state[i].name;
  }
}

TEST(Session, FrozenBatchNormMakesAnyNumberOfRanksTheSame) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.model.freeze_batch_norm = true;

  const Trained together = train(options, world()), alone = train(options, Communicator::null());

  EXPECT_EQ(together.result.summary.metrics.at("train_loss").values.size(), 10u);
  expect_same(together, alone, 1e-9);
}

TEST(Session, SynchronisedBatchNormMakesAnyNumberOfRanksTheSame) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.parallel.sync_batch_norm = true;
  options.run.epochs = 1;

  const Trained together = train(options, world()), alone = train(options, Communicator::null());

  expect_same(together, alone, 1e-7);
}

TEST(Session, MicroBatchesOfUnevenBlocksMeetInSynchronisedBatchNorm) {
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

TEST(Session, MicroBatchesChangeNothingWithFrozenBatchNorm) {
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

TEST(Session, EverySampleCountsOnceAnEpoch) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.precision = "fp32";

  const Trained trained = train(options, world());

  std::int64_t samples = 0;
  for (const std::int64_t count : trained.result.record.samples)
    samples += count;
  EXPECT_EQ(world().allreduce(samples, ReduceOp::sum), 2 * 37);
  EXPECT_EQ(trained.result.summary.status, "complete");
}

TEST(Session, ADivergedLossIsAFailureOfAllRanks) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.precision = "fp32";
  options.optimizer.learning_rate = 1e30;

  const Trained trained = train(options, world());

  ASSERT_TRUE(trained.result.failure);
  EXPECT_EQ(trained.result.failure->code(), ExitCode::numerical);
  EXPECT_EQ(trained.result.summary.status, "failed");
}

TEST(Session, RefusesMoreRanksThanRows) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.run.global_batch = world().size() - 1;
  if (world().size() == 1) return;

  EXPECT_THROW(train(options, world()), Error);
}

}  // namespace
}  // namespace multicard
