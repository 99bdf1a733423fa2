#include "published/MeasuredTables.hpp"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "published/PolluxForm.hpp"
#include "scheduling/model/ModelFit.hpp"
#include "scheduling/model/StepTimeModel.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

class MeasuredTables : public ::testing::Test {
 protected:
  std::string written(const std::string& content) {
    std::ofstream(folder_ / "table.csv") << content;
    return folder_ / "table.csv";
  }

  /// Mean error over all curves of a table.
  double error_of(const std::string& table) const {
    double sum = 0;
    double num_rows = 0;
    for (const auto& [plan, curve] : read_rubick_table(data_ + "rubick/" + table)) {
      const auto rows = static_cast<double>(curve.size());
      sum += rows * mean_absolute_error(model_, fit(model_, curve).values, curve);
      num_rows += rows;
    }
    return sum / num_rows;
  }

  test::ScratchFolder folder_;
  std::string data_ = std::string(std::getenv("MULTICARD_SOURCE")) + "/tests/data/allocation/";
  StepTimeModel model_;
};

TEST_F(MeasuredTables, HavePlacementsOrNumbersOfNodes) {
  const auto placements = read_pollux_table(written("placement,local_bsz,step_time,sync_time\n31,16,0.5,0.1\n"));
  const auto numbers = read_pollux_table(written("num_nodes,num_replicas,local_bsz,step_time,sync_time\n3,8,4,2,1\n"));

  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0].at.gpus, 4);
  EXPECT_EQ(placements[0].at.nodes, 2);
  EXPECT_EQ(placements[0].at.rows_per_gpu, 16);
  EXPECT_EQ(placements[0].seconds, 0.5);
  ASSERT_EQ(numbers.size(), 1U);
  EXPECT_EQ(numbers[0].at.gpus, 8);
  EXPECT_EQ(numbers[0].at.max_per_node, 3);
}

TEST_F(MeasuredTables, SeparateStrategiesAndLeaveOutWhatCannotRun) {
  const auto curves =
      read_rubick_table(written("exec_plan,placement,iter_time\nga,22,0.5\n242,88,1.5\nga,8,0\nzero-dp,4,0.7\n"), 32);

  ASSERT_EQ(curves.size(), 3U);
  ASSERT_EQ(curves.at("ga").size(), 1U);
  EXPECT_EQ(curves.at("ga")[0].at.rows_per_gpu, 8);
  EXPECT_EQ(curves.at("3d")[0].at.tensor_parallel, 4);
  EXPECT_EQ(curves.at("3d")[0].at.replicas(), 2);
  EXPECT_EQ(curves.at("zero-dp")[0].at.optimizer_shards, 4);
}

TEST_F(MeasuredTables, OfRatesHaveAColumnForEachNumberOfGpus) {
  const auto steps = read_elasticflow_table(written("global_batch_size,1,16\n64,4,0\n128,,8\n"));

  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].at.rows_per_gpu, 64);
  EXPECT_EQ(steps[0].seconds, 0.25);
  EXPECT_EQ(steps[1].at.nodes, 2);
  EXPECT_EQ(steps[1].at.rows_per_gpu, 8);
  EXPECT_THROW(read_elasticflow_table(written("global_batch_size,many\n64,4\n")), DataError);
}

TEST_F(MeasuredTables, OfASweepHaveRanksAndGlobalBatch) {
  const auto steps = read_sweep_table(written("ranks,global_batch,step_s,nodes,accumulation\n4,64,0.25,2,1\n"));

  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].at.gpus, 4);
  EXPECT_EQ(steps[0].at.nodes, 2);
  EXPECT_EQ(steps[0].at.rows_per_gpu, 8);
  EXPECT_EQ(steps[0].at.accumulation, 1);
}

TEST_F(MeasuredTables, RefuseWrongPlacements) {
  EXPECT_THROW(read_pollux_table(written("placement,local_bsz,step_time\n30,16,0.5\n")), DataError);
  EXPECT_THROW(read_pollux_table(written("num_nodes,num_replicas,local_bsz,step_time\n3,2,4,2\n")), DataError);
  EXPECT_THROW(read_rubick_table(written("exec_plan,placement,iter_time\n245,88,1.5\n")), DataError);
}

// The bounds are what `model_bench` measured, with a margin of a tenth.
TEST_F(MeasuredTables, OfPolluxAreDescribedAndExtrapolated) {
  const std::string folder = data_ + "pollux/traces/yolov3/";
  std::vector<StepObservation> all = read_pollux_table(folder + "placements.csv");
  for (const StepObservation& observation : read_pollux_table(folder + "scalability.csv"))
    all.push_back(observation);
  std::vector<StepObservation> small;
  std::vector<StepObservation> large;
  for (const StepObservation& observation : all) {
    if (observation.at.gpus <= 8) small.push_back(observation);
    if (observation.at.gpus >= 16) large.push_back(observation);
  }
  const PolluxForm published;

  EXPECT_LT(mean_absolute_error(model_, fit(model_, all).values, all), 0.085);
  EXPECT_LT(mean_absolute_error(model_, fit(model_, small).values, large), 0.11);
  EXPECT_GT(mean_absolute_error(published, fit(published, small).values, large), 0.20);
}

TEST_F(MeasuredTables, OfRubickAreDescribedStrategyByStrategy) {
  EXPECT_LT(error_of("vit.csv"), 0.07);
  EXPECT_LT(error_of("gpt2.csv"), 0.02);
  EXPECT_LT(error_of("llama7.csv"), 0.07);
}

}  // namespace
}  // namespace multicard
