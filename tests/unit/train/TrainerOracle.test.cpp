// The trainer on real ranks against torch's results (tests/data/oracles/mobilenet/README.md): 1, 2, 3 and 4 ranks at
// the same global batch of 8 rows, so 3 ranks hold unequal blocks.
#include <gtest/gtest.h>

#include "oracle_training.hpp"

namespace multicard {
namespace {

using test::Arithmetic;
using test::NormMode;
using test::oracle;
using test::OracleTraining;
using test::world;

const Arithmetic kDouble{at::kDouble, at::MemoryFormat::ChannelsLast};
const Arithmetic kFloat{at::kFloat, at::MemoryFormat::ChannelsLast};

void expect_losses(const std::vector<double>& losses, const nlohmann::json& expected, double tolerance,
                   double last_tolerance, std::size_t num_strict = 9) {
  ASSERT_EQ(losses.size(), 10u);
  for (std::size_t step = 0; step < 10; ++step)
    EXPECT_NEAR(losses[step], expected[step].get<double>(), step < num_strict ? tolerance : last_tolerance) << step;
}

void expect_equal_state(Network& network, Network& other, double tolerance) {
  for (std::size_t i = 0; i < network.state().size(); ++i) {
    const NamedTensor& mine = network.state()[i];
    const double difference =
        (mine.tensor.detach() - other.state()[i].tensor.detach()).to(at::kDouble).norm().item<double>();
    EXPECT_LE(difference, tolerance * (1 + test::l2(other.state()[i].tensor))) << mine.name;
  }
}

void expect_final(Network& network, const nlohmann::json& final) {
  for (const NamedTensor& parameter : network.parameters()) {
    const double expected = final["parameters"][parameter.name]["l2"].get<double>();
    EXPECT_NEAR(test::l2(parameter.tensor), expected, 1e-3 * expected + 1e-3) << parameter.name;
  }
  for (const NamedTensor& buffer : network.buffers()) {
    if (buffer.name.ends_with("num_batches_tracked")) continue;
    const double expected = final["buffers"][buffer.name]["l2"].get<double>();
    EXPECT_NEAR(test::l2(buffer.tensor), expected, 1e-3 * expected + 1e-3) << buffer.name;
  }
}

TEST(TrainerOracle, SynchronisedBatchNormIsTheUnsplitRunInFloat64) {
  OracleTraining training(world(), kDouble, NormMode::synchronised);

  expect_losses(training.losses(), oracle()["single_float64"]["loss"], 1e-9, 1e-9);
  expect_final(training.network(), oracle()["single_float64"]["final"]);
}

TEST(TrainerOracle, SynchronisedBatchNormIsTheUnsplitRunInFloat32) {
  OracleTraining training(world(), kFloat, NormMode::synchronised);

  expect_losses(training.losses(), oracle()["single_float64"]["loss"], 1e-4, 1e-3);
}

TEST(TrainerOracle, GradientNormsAreTorchs) {
  OracleTraining training(world(), kDouble, NormMode::synchronised);

  const auto& expected = oracle()["single_float64"]["grad_norm"];
  for (std::size_t step = 0; step < 10; ++step)
    EXPECT_NEAR(training.norms()[step], expected[step].get<double>(), 1e-8 * expected[step].get<double>()) << step;
}

TEST(TrainerOracle, StatisticsPerReplicaAreDistributedDataParallel) {
  if (world().size() != 2) return;  // the oracle has two processes
  OracleTraining in_double(world(), kDouble, NormMode::per_replica), in_float(world(), kFloat, NormMode::per_replica);

  expect_losses(in_double.losses(), oracle()["ddp2_float64"]["loss_mean"], 1e-9, 1e-9);
  expect_losses(in_float.losses(), oracle()["ddp2_float64"]["loss_mean"], 1e-4, 2e-3, 8);
  expect_final(in_double.network(), oracle()["ddp2_float64"]["final"]);
}

TEST(TrainerOracle, FrozenStatisticsGiveTheSameOnAnyNumberOfRanks) {
  OracleTraining together(world(), kDouble, NormMode::frozen);
  OracleTraining alone(Communicator::null(), kDouble, NormMode::frozen);

  for (std::size_t step = 0; step < 10; ++step)
    EXPECT_NEAR(together.losses()[step], alone.losses()[step], 1e-10 * (1 + alone.losses()[step])) << step;
  expect_equal_state(together.network(), alone.network(), 1e-10);
}

ParallelOptions parallel(const std::string& strategy, std::optional<double> bucket_mb = {}, bool overlap = true) {
  ParallelOptions options;
  options.strategy = value_of<StrategyName>(strategy, kStrategyWords).value();
  options.bucket_mb = bucket_mb;
  options.overlap = overlap;
  return options;
}

TEST(TrainerOracle, BucketsOverlapAndMicroBatchesChangeNothing) {
  OracleTraining whole(world(), kDouble, NormMode::frozen);
  OracleTraining small_buckets(world(), kDouble, NormMode::frozen, parallel("ddp-ds", 0.01));
  OracleTraining no_overlap(world(), kDouble, NormMode::frozen, parallel("ddp-ds", 0.3, false));
  OracleTraining accumulated(world(), kDouble, NormMode::frozen, {}, 1);

  expect_equal_state(small_buckets.network(), whole.network(), 1e-13);
  expect_equal_state(no_overlap.network(), whole.network(), 1e-13);
  expect_equal_state(accumulated.network(), whole.network(), 1e-10);
}

TEST(TrainerOracle, CompressedGradientsAreThoseOfOneRankWithClippingAndMicroBatches) {
  ParallelOptions compressed = parallel("ddp-ds"), replicated = parallel("ddp", 0.01);
  compressed.powersgd_rank = replicated.powersgd_rank = 2;
  const test::OracleExtras clipped{.clip_norm = 0.5, .ema_decay = {}};
  const auto train = [&](const Communicator& ranks, const ParallelOptions& options, std::optional<std::int64_t> rows) {
    return std::make_unique<OracleTraining>(ranks, kDouble, NormMode::frozen, options, rows, 10, nullptr, 1, clipped);
  };
  const auto alone = train(Communicator::null(), compressed, {}), whole = train(Communicator::null(), {}, {});
  EXPECT_GT(std::abs(alone->losses()[9] - whole->losses()[9]), 1e-4 * whole->losses()[9]) << "something is left out";

  for (const auto& together :
       {train(world(), compressed, {}), train(world(), compressed, 1), train(world(), replicated, {})})
    for (std::size_t step = 0; step < 10; ++step) {
      EXPECT_NEAR(together->losses()[step], alone->losses()[step], 1e-8 * alone->losses()[step]) << step;
      EXPECT_NEAR(together->norms()[step], alone->norms()[step], 1e-6 * alone->norms()[step]) << step;
    }
}

TEST(TrainerOracle, AllStrategiesAreOneRankWhereStatisticsAreSynchronised) {
  constexpr std::int64_t kSteps = 20;
  OracleTraining alone(Communicator::null(), kDouble, NormMode::synchronised, {}, {}, kSteps);
  for (const char* name : {"dp", "ddp", "ddp-ds"}) {
    SCOPED_TRACE(name);
    OracleTraining together(world(), kDouble, NormMode::synchronised, parallel(name), {}, kSteps);

    ASSERT_EQ(together.losses().size(), 20u);
    for (std::size_t step = 0; step < 20; ++step)
      EXPECT_NEAR(together.losses()[step], alone.losses()[step], 1e-10 * alone.losses()[step]) << step;
    expect_equal_state(together.network(), alone.network(), 1e-10);
  }
}

TEST(TrainerOracle, AllStrategiesAreTheSameWithStatisticsPerReplica) {
  OracleTraining sampled(world(), kFloat, NormMode::per_replica);
  for (const char* name : {"dp", "ddp"}) {
    SCOPED_TRACE(name);
    OracleTraining other(world(), kFloat, NormMode::per_replica, parallel(name));

    EXPECT_EQ(other.losses().front(), sampled.losses().front());
    expect_losses(other.losses(), sampled.losses(), 1e-5, 1e-3, 8);
  }
}

TEST(TrainerOracle, ScalingTheLossChangesNothingWhereNothingOverflows) {
  LossScaler scaler(at::kCPU);
  OracleTraining scaled(world(), kDouble, NormMode::frozen, {}, {}, 10, &scaler);
  OracleTraining plain(world(), kDouble, NormMode::frozen);

  expect_equal_state(scaled.network(), plain.network(), 1e-13);
  EXPECT_EQ(scaler.updates_since_change(), 10);
}

TEST(TrainerOracle, AllRanksSkipUpdatesThatOverflow) {
  for (const char* name : {"dp", "ddp-ds"}) {
    SCOPED_TRACE(name);
    LossScaler scaler(at::kCPU);
    constexpr double kTooMuch = 0x1p127;
    scaler.restore(kTooMuch, 0);
    OracleTraining training(world(), kFloat, NormMode::frozen, parallel(name), {}, 3, &scaler, 64);

    const std::unique_ptr<Network> start = test::oracle_network("init.safetensors", kFloat);
    for (const auto& metric : {"skipped", "loss_scale"})
      ASSERT_EQ(training.recorder().metrics().at(metric).values.size(), 3u);
    EXPECT_EQ(training.recorder().metrics().at("skipped").values, (std::vector<double>{1, 1, 1}));
    EXPECT_EQ(scaler.value(), kTooMuch / 8);
    expect_equal_state(training.network(), *start, 0);
  }
}

TEST(TrainerOracle, RecordsEveryStep) {
  OracleTraining training(world(), kFloat, NormMode::per_replica);

  RankRecord& record = training.recorder().record();
  EXPECT_EQ(record.steps.size(), 10u);
  std::int64_t samples = 0;
  for (const std::int64_t count : record.samples)
    samples += count;
  EXPECT_EQ(world().allreduce(samples, ReduceOp::sum), 80);
  for (const StepTimes& step : record.steps) {
    double sum = 0;
    for (const double phase : step.phases)
      sum += phase;
    EXPECT_NEAR(sum, step.step, 1e-9);
    EXPECT_GT(step.phases[static_cast<std::size_t>(Phase::backward)], 0);
  }
}

}  // namespace
}  // namespace multicard
