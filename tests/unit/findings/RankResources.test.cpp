#include "findings/RankResources.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace multicard {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

/// Two ranks, of which the second has a sample less.
RunData run_with(const std::map<std::string, std::vector<double>>& columns) {
  RunData run;
  run.ranks = 2;
  for (const auto& [name, values] : columns)
    run.resources[name] = {2, values.size() / 2, values};
  return run;
}

TEST(RankResources, WeighsIntervalsByTheirLength) {
  const RunData run = run_with({{"interval_s", {1, 0.5, 1, kAbsent}},
                                {"cpu_s", {2, 0.25, 1, kAbsent}},
                                {"involuntary_switches", {30, 15, 5, kAbsent}},
                                {"resident_bytes", {7e8, 9e8, 5e8, kAbsent}},
                                {"gpu_power_w", {300, 600, kAbsent, kAbsent}},
                                {"gpu_energy_j", {310, 280, 100, kAbsent}}});

  const std::vector<RankResources> ranks = reduce_resources(run);

  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_DOUBLE_EQ(ranks[0].cpu_cores, 1.5);
  EXPECT_DOUBLE_EQ(ranks[0].involuntary_switches, 30);
  EXPECT_DOUBLE_EQ(ranks[0].resident_bytes, 9e8);
  EXPECT_DOUBLE_EQ(ranks[0].gpu_power_w, 400);
  EXPECT_DOUBLE_EQ(ranks[0].gpu_energy_j, 590);
  EXPECT_DOUBLE_EQ(ranks[1].cpu_cores, 1);
  EXPECT_TRUE(std::isnan(ranks[1].gpu_power_w));
  EXPECT_DOUBLE_EQ(ranks[1].gpu_energy_j, 100);
}

TEST(RankResources, ClocksAreLoweredByPowerHeatAndHardwareOnly) {
  const RunData run =
      run_with({{"interval_s", {1, 1, 1, 1, 1, 1, 1, 1}}, {"gpu_throttle_reasons", {0, 1, 2, 4, 0x20, 0x40, 0x80, 8}}});

  const std::vector<RankResources> ranks = reduce_resources(run);

  EXPECT_DOUBLE_EQ(ranks[0].gpu_throttled, 0.25);  // idle and a user's setting are no reason to worry
  EXPECT_DOUBLE_EQ(ranks[1].gpu_throttled, 1);
}

TEST(RankResources, WhatWasNotSampledIsUnknown) {
  EXPECT_TRUE(reduce_resources(run_with({})).empty());
  const std::vector<RankResources> ranks = reduce_resources(run_with({{"interval_s", {1, 1}}}));
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_TRUE(std::isnan(ranks[0].cpu_cores));
  EXPECT_TRUE(std::isnan(ranks[0].resident_bytes));
  EXPECT_TRUE(std::isnan(ranks[0].gpu_throttled));
}

}  // namespace
}  // namespace multicard
