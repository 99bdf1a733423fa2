#include "scheduling/replay/Convergence.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

class ConvergenceTest : public ::testing::Test {
 protected:
  ConvergenceTest() {
    write("100", "90,80,0,1,300\n200,160,0,2,500\n");
    write("400", "100,30,0,5,700\n190,50,0,8,100\n");
    std::ofstream(folder_ / "placements.csv") << "is not read here";
  }
  void write(const std::string& batch, const std::string& rows) {
    std::ofstream(folder_ / ("validation-" + batch + ".csv")) << "progress,iteration,metric,grad_sqr,grad_var\n"
                                                              << rows;
  }
  test::ScratchFolder folder_;
};

TEST_F(ConvergenceTest, EndsEpochsAtTheLeastProgressOfAllBatches) {
  const Convergence convergence(folder_.path().string(), 2);

  EXPECT_EQ(convergence.smallest_batch(), 100);
  EXPECT_EQ(convergence.largest_batch(), 400);
  EXPECT_EQ(convergence.progress_at(0), 0);
  EXPECT_EQ(convergence.progress_at(1), 90);
  EXPECT_EQ(convergence.progress_at(2), 190);
}

TEST_F(ConvergenceTest, IsLinearBetweenValidatedBatches) {
  const Convergence convergence(folder_.path().string(), 2);

  EXPECT_EQ(convergence.noise(100, 0).square, 1);
  EXPECT_EQ(convergence.noise(400, 1).variance, 100);
  EXPECT_DOUBLE_EQ(convergence.noise(200, 1).square, 4);
  EXPECT_DOUBLE_EQ(convergence.noise(200, 0).variance, 300 + 400.0 / 3);
  EXPECT_DOUBLE_EQ(convergence.updates_after(300, 1), 50 + 110.0 / 3);
}

TEST_F(ConvergenceTest, NeedsARowForEveryEpoch) {
  EXPECT_THROW(Convergence(folder_.path().string(), 3), DataError);
  EXPECT_THROW(Convergence((folder_.path() / "none").string(), 1), DataError);
}

TEST(GradientNoise, SaysWhatALargerBatchIsWorth) {
  const GradientNoise noise{2, 6};

  EXPECT_DOUBLE_EQ(noise.gain(1), 1);
  EXPECT_DOUBLE_EQ(noise.gain(3), 2);    // (6 + 2) / (6 / 3 + 2)
  EXPECT_LT(noise.gain(1e9), 4.000001);  // never more than (6 + 2) / 2
}

}  // namespace
}  // namespace multicard
