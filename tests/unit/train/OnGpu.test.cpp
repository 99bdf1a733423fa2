// The trainer on a GPU against torch's results on the CPU: forward, backward, NCCL, events. Two ranks share a GPU when
// there is only one. Skipped without a GPU.
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "device/Device.hpp"
#include "oracle_training.hpp"
#include "support/no_waiting.hpp"
#include "train/HostSnapshot.hpp"

namespace multicard {
namespace {

using test::Arithmetic;
using test::NormMode;
using test::oracle;
using test::OracleExtras;
using test::OracleTraining;
using test::world;

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (visible_gpus().empty()) GTEST_SKIP() << "no GPU";
    const DeviceChoice choice = choose_device(DeviceRequest::cuda, ShareGpu::yes, world(), find_topology(world()));
    set_compute_switches(switches_for({.is_deterministic = true}));
    arithmetic_ = {at::kDouble, at::MemoryFormat::ChannelsLast, choice.device};
  }

  void expect_losses(OracleTraining& training, const char* run, const char* losses) const {
    const auto& expected = oracle()[run][losses];
    for (std::size_t step = 0; step < 10; ++step)
      EXPECT_NEAR(training.losses()[step], expected[step].get<double>(), 1e-9) << step;
  }

  Arithmetic arithmetic_;
};

TEST_F(OnGpu, SynchronisedBatchNormIsTheUnsplitRun) {
  OracleTraining training(world(), arithmetic_, NormMode::synchronised);

  expect_losses(training, "single_float64", "loss");
}

TEST_F(OnGpu, StatisticsPerReplicaAreDistributedDataParallel) {
  OracleTraining training(world(), arithmetic_, NormMode::per_replica);

  if (world().size() == 1) expect_losses(training, "single_float64", "loss");
  if (world().size() == 2) expect_losses(training, "ddp2_float64", "loss_mean");
}

TEST_F(OnGpu, FrozenStatisticsGiveTheResultsOfTheCpu) {
  OracleTraining on_gpu(world(), arithmetic_, NormMode::frozen);
  OracleTraining on_cpu(Communicator::null(), {at::kDouble, at::MemoryFormat::ChannelsLast}, NormMode::frozen);

  for (std::size_t step = 0; step < 10; ++step)
    EXPECT_NEAR(on_gpu.losses()[step], on_cpu.losses()[step], 1e-9 * (1 + on_cpu.losses()[step])) << step;
}

TEST_F(OnGpu, CopiesOfACheckpointPrecedeWhatChangesTheTensors) {
  const auto ones = [&](std::int64_t numel) {
    return at::ones({numel}, at::TensorOptions().device(arithmetic_.device));
  };
  const at::Tensor weight = ones(1 << 22), statistic = ones(1000);
  const CheckpointParts parts{{"a", {{"weight", weight}, {"statistic", statistic}}}};
  HostSnapshot copies;
  for (int repeat = 0; repeat < 3; ++repeat) {
    weight.fill_(1);
    statistic.fill_(1);

    copies.take(parts, {statistic});
    statistic.fill_(2);
    copies.let_change();
    weight.fill_(2);

    for (const NamedTensor& copy : copies.wait()[0].tensors) {
      EXPECT_EQ(copy.tensor.min().item<float>(), 1) << copy.name;
      EXPECT_EQ(copy.tensor.max().item<float>(), 1) << copy.name;
    }
  }
  EXPECT_TRUE(copies.wait()[0].tensors[0].tensor.is_pinned());
}

// Whole steps: upload, forward, backward, sums over ranks, loss scale, clipping, update, moving average, results.
TEST_F(OnGpu, NeverWaitsForTheDeviceInAStep) {
  arithmetic_.dtype = at::kFloat;
  ParallelOptions parallel;
  for (const StrategyName strategy : {StrategyName::ddp_ds, StrategyName::ddp, StrategyName::dp}) {
    parallel.strategy = strategy;
    LossScaler scaler(arithmetic_.device);
    OracleExtras extras{.clip_norm = 1, .ema_decay = 0.99};
    extras.first = [&](Trainer& trainer) {
      for (int i = 0; i < 3; ++i)
        trainer.step();  // memory and workspaces are made, kernels loaded
      const test::NoWaiting no_waiting;
      for (int i = 0; i < 4; ++i)
        EXPECT_NO_THROW(trainer.step()) << word_of(strategy, kStrategyWords);
    };
    OracleTraining(world(), arithmetic_, NormMode::synchronised, parallel, 2, 10, &scaler, 1, extras);
  }
}

TEST_F(OnGpu, StepsAreTimedByTheDevice) {
  OracleTraining training(world(), arithmetic_, NormMode::per_replica);

  EXPECT_EQ(training.recorder().record().clock, "device");
  EXPECT_EQ(training.recorder().steps().size(), 10u);
}

}  // namespace
}  // namespace multicard
