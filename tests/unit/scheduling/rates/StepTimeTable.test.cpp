#include "scheduling/rates/StepTimeTable.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

std::string traces(const std::string& application) {
  return test::source_path("tests/data/allocation/pollux/traces/" + application).string();
}

void expect_time(const StepTimeTable& times, const GpuPlacement& placement, int batch, double step, double sync) {
  const std::optional<StepTime> time = times.at(placement, batch);
  ASSERT_TRUE(time.has_value());
  EXPECT_NEAR(time->step, step, 1e-9 * step);
  EXPECT_NEAR(time->sync, sync, 1e-9 * step);
}

TEST(GpuPlacement, IsNormalisedToItsSmallestRotation) {
  EXPECT_EQ(normalised({3, 1, 4, 1, 2}), (GpuPlacement{1, 2, 3, 1, 4}));
  EXPECT_EQ(normalised({0, 4, 0, 2}), (GpuPlacement{2, 4}));
  EXPECT_EQ(normalised({}), GpuPlacement{});
}

TEST(GpuPlacement, IsDenseOnFullNodes) {
  EXPECT_EQ(dense_placement(10, 4), (GpuPlacement{4, 4, 2}));
  EXPECT_EQ(dense_placement(4, 4), GpuPlacement{4});
}

TEST(StepTimeTable, AreLinearInTheBatchWhereThePlacementWasMeasured) {
  const StepTimeTable times(traces("cifar10"));
  const double at_32 = 0.14785358905792237, at_45 = 0.15026555061340333;  // placement 112
  const double sync_32 = 0.10531877822875976, sync_45 = 0.10053919906616211;

  expect_time(times, {1, 1, 2}, 32, at_32, sync_32);
  expect_time(times, {2, 0, 1, 1}, 45, at_45, sync_45);
  expect_time(times, {1, 2, 1}, 36, at_32 + 4.0 / 13 * (at_45 - at_32), sync_32 + 4.0 / 13 * (sync_45 - sync_32));
  EXPECT_FALSE(times.at({1, 1, 2}, 31));
  EXPECT_FALSE(times.at({1, 1, 2}, times.largest_batch() + 1));
}

TEST(StepTimeTable, FindAPlacementInWhateverOrderItsNodesAreNamed) {
  const test::ScratchFolder folder;
  std::ofstream(folder / "placements.csv") << "placement,local_bsz,step_time,sync_time\n21,8,0.5,0.1\n1,8,0.2,0\n";
  std::ofstream(folder / "scalability.csv") << "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,1,4,0.1,0\n"
                                               "2,2,4,0.2,0\n2,4,8,0.3,0\n4,4,4,0.4,0\n";
  const StepTimeTable times(folder.path().string());
  expect_time(times, {1, 2}, 8, 0.5, 0.1);
  expect_time(times, {2, 1}, 8, 0.5, 0.1);
}

// Expected values: scipy 1.10.1, LinearNDInterpolator over the means of placements.csv and scalability.csv.
TEST(StepTimeTable, AreInterpolatedAsByScipyWhereThePlacementWasNotMeasured) {
  const StepTimeTable cifar10(traces("cifar10")), bert(traces("bert"));

  expect_time(cifar10, {3, 1, 4, 2, 2}, 100, 0.1680583432403921, 0.08297927163553512);
  expect_time(cifar10, GpuPlacement(9, 4), 333, 0.302859043475217, 0.048297528925481795);
  expect_time(cifar10, GpuPlacement(16, 4), 61, 0.29727667256405477, 0.23807057157817635);
  expect_time(cifar10, GpuPlacement(7, 2), 500, 0.40370003060499826, 0.015454515384038279);
  expect_time(bert, GpuPlacement(12, 4), 7, 1.8930252268910408, 1.2908706016540528);
  expect_time(bert, GpuPlacement(10, 3), 10, 1.822215517361959, 1.0458037128448485);
  EXPECT_FALSE(cifar10.at(GpuPlacement(18, 4), 61));  // more GPUs than were measured
}

TEST(StepTimeTable, TakeMoreThanSixteenNodesForSixteen) {
  const StepTimeTable times(traces("cifar10"));

  const std::optional<StepTime> many = times.at(GpuPlacement(20, 1), 64);
  std::vector<int> on_sixteen(12, 1);
  on_sixteen.insert(on_sixteen.end(), 4, 2);

  ASSERT_TRUE(many.has_value());
  EXPECT_EQ(many->step, times.at(on_sixteen, 64)->step);
}

TEST(StepTimeTable, KnowTheirLimits) {
  const StepTimeTable times(traces("yolov3"));

  EXPECT_EQ(times.smallest_batch(), 4);
  EXPECT_EQ(times.most_gpus(), 64);
}

TEST(StepTimeTable, NameFileAndLineOfAWrongRow) {
  const test::ScratchFolder folder;
  std::ofstream(folder / "placements.csv") << "placement,local_bsz,step_time,sync_time\n1,8,0.5,0.1\n1x,8,0.5,0.1\n";

  EXPECT_EQ(
      test::message_of<DataError>([&] { StepTimeTable times(folder.path().string()); }),
      "line 3 of " + (folder / "placements.csv") + ": placement is 1x (expected a digit from 1 to 9 for each node)");
}

}  // namespace
}  // namespace multicard
