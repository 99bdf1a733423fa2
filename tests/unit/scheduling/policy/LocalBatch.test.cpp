#include "scheduling/policy/LocalBatch.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

constexpr BatchLimits kLimits{.first = 128, .largest = 4096, .smallest_local = 32, .largest_local = 1024};

TEST(LocalBatch, RoundsTheRowsOfAGpuUp) {
  EXPECT_EQ(split_batch(2048, 6, kLimits), (LocalBatch{342, 0}));
  EXPECT_EQ(split_batch(2048, 6, kLimits).global(6), 2052);
  EXPECT_EQ(split_batch(128, 1, kLimits), (LocalBatch{128, 0}));
}

TEST(LocalBatch, AccumulatesWhatAGpuCannotHold) {
  EXPECT_EQ(split_batch(4096, 2, kLimits), (LocalBatch{1024, 1}));
  EXPECT_EQ(split_batch(3000, 1, kLimits), (LocalBatch{1000, 2}));
}

TEST(LocalBatch, IsAccumulatedByASingleGpuAboveTheFirstBatch) {
  EXPECT_EQ(split_batch(256, 1, kLimits), (LocalBatch{128, 1}));
  EXPECT_EQ(split_batch(256, 2, kLimits), (LocalBatch{128, 0}));
  EXPECT_EQ(split_batch(128, 1, kLimits, SingleGpuAccumulation::always), (LocalBatch{64, 1}));
}

TEST(LocalBatch, StaysBelowTheLargestGlobalBatch) {
  EXPECT_EQ(split_batch(4096, 6, kLimits), (LocalBatch{682, 0}));  // 683 would be 4,098 rows
}

}  // namespace
}  // namespace multicard
