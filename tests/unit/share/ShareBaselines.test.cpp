#include "share/ShareBaselines.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

namespace multicard {
namespace {

BaselineTask task(const std::string& name, int max_ranks = 2) {
  return {name, 1, max_ranks, 1, [](int ranks) {
            StepPoint at;
            at.gpus = at.max_per_node = ranks;
            at.rows_per_gpu = 16.0 / ranks;
            return at;
          }};
}

/// Task a: 100 steps of 1 s on a rank and 0.5 s on two; b: 100 steps of 2 s and 1.5 s.
ShareRecord measured() {
  ShareRecord record;
  for (const auto& [name, ranks, seconds] :
       {std::tuple("a", 1, 1.0), std::tuple("b", 1, 2.0), std::tuple("a", 2, 0.5), std::tuple("b", 2, 1.5)}) {
    record.note(name, {0, ranks}, 0);
    record.measure(name, 100, seconds);
  }
  return record;
}

TEST(ShareBaselines, AddUpTheStepsOfEachPolicy) {
  const auto baselines = predict_baselines(measured(), {task("a"), task("b")}, 2);
  ASSERT_EQ(baselines.size(), 2U);
  EXPECT_EQ(baselines[0].policy, "sequential");
  EXPECT_NEAR(baselines[0].predicted_s, 50 + 150, 1e-9);
  EXPECT_EQ(baselines[1].policy, "equal");
  EXPECT_NEAR(baselines[1].predicted_s, 200, 1e-9);
  for (const AllocationBaseline& baseline : baselines) {
    EXPECT_LT(baseline.low_s, baseline.predicted_s);
    EXPECT_GT(baseline.high_s, baseline.predicted_s);
    EXPECT_TRUE(baseline.reason.empty());
  }
}

TEST(ShareBaselines, WaitForTasksThatArriveAndForRanks) {
  ShareRecord record = measured();
  record.progress["b"].arrived_s = 70;
  auto baselines = predict_baselines(record, {task("a"), task("b")}, 2);
  EXPECT_NEAR(baselines[0].predicted_s, 70 + 150, 1e-9) << "nothing to do from 50 s to 70 s";
  EXPECT_NEAR(baselines[1].predicted_s, 70 + 200, 1e-9);

  baselines = predict_baselines(measured(), {task("a"), task("b")}, 1);
  EXPECT_NEAR(baselines[1].predicted_s, 100 + 200, 1e-9) << "b waits for the only rank";
}

TEST(ShareBaselines, ATaskGetsNoMoreRanksThanItCanUse) {
  const auto baselines = predict_baselines(measured(), {task("a", 1), task("b")}, 2);
  EXPECT_NEAR(baselines[0].predicted_s, 100 + 150, 1e-9);
}

TEST(ShareBaselines, AreBoundedByPerfectScalingAndNoneWhereOnlyOneNumberOfRanksWasMeasured) {
  ShareRecord record = measured();
  record.intervals.erase(record.intervals.begin() + 2);  // a on two ranks
  const AllocationBaseline alone = predict_baselines(record, {task("a")}, 2)[0];
  EXPECT_EQ(alone.reason, "between perfect scaling and none: a was not measured on 2 ranks");
  EXPECT_NEAR(alone.low_s, 50, 1e-9);
  EXPECT_NEAR(alone.high_s, 100, 1e-9);
  EXPECT_GE(alone.predicted_s, alone.low_s);
  EXPECT_LE(alone.predicted_s, alone.high_s);
}

TEST(ShareBaselines, AreBoundedFromOneNumberOfRanksHoweverNear) {
  ShareRecord record;
  record.note("a", {0, 2}, 0);
  record.measure("a", 100, 1.0);
  const AllocationBaseline alone = predict_baselines(record, {task("a", 4)}, 4)[0];
  EXPECT_EQ(alone.reason, "between perfect scaling and none: a was not measured on 4 ranks");
  EXPECT_NEAR(alone.low_s, 50, 1e-9);
  EXPECT_NEAR(alone.high_s, 100, 1e-9);
}

TEST(ShareBaselines, NameAllTasksThatAreBounded) {
  ShareRecord record = measured();
  record.intervals.resize(2);  // on one rank
  const AllocationBaseline alone = predict_baselines(record, {task("a"), task("b")}, 2)[0];
  EXPECT_EQ(alone.reason,
            "between perfect scaling and none: a was not measured on 2 ranks, b was not measured on 2 ranks");
}

TEST(ShareBaselines, ATaskOfTheEqualSplitTakesFewerRanksRatherThanWait) {
  BaselineTask large = task("a", 2), second = task("b", 2);
  large.least_ranks = large.equal_ranks = 2;
  second.equal_ranks = 2;
  const AllocationBaseline equal = predict_baselines(measured(), {large, second}, 3)[1];
  EXPECT_NEAR(equal.predicted_s, 50 + (100 - 50 / 2.0) * 1.5, 1e-9) << "b has one rank until a has ended";
}

TEST(ShareBaselines, EndWhateverTheTimesAre) {
  // Steps that do not add up to round numbers, and a late arrival that interrupts some.
  for (int i = 1; i <= 200; ++i) {
    ShareRecord record;
    double longest = 0, sum = 0;
    for (const auto& [name, seconds] : {std::pair("a", 0.001 * i / 7), std::pair("b", 1.0 / i), std::pair("c", 0.3)}) {
      record.note(name, {0, 1}, 0);
      record.measure(name, 100'000 + i, seconds);
      longest = std::max(longest, seconds * (100'000 + i));
      sum += seconds * (100'000 + i);
    }
    record.progress["c"].arrived_s = 17.0 * i / 3;
    const AllocationBaseline equal = predict_baselines(record, {task("a"), task("b"), task("c")}, 2)[1];
    EXPECT_GE(equal.predicted_s, longest * (1 - 1e-9));
    EXPECT_LE(equal.predicted_s, (sum + 17.0 * i / 3) * (1 + 1e-9));
  }
}

TEST(ShareBaselines, AreUnknownWhereNothingWasMeasured) {
  ShareRecord record = measured();
  std::erase_if(record.intervals, [](const AllocationInterval& interval) { return interval.task == "a"; });
  const auto baselines = predict_baselines(record, {task("a"), task("b")}, 2);
  EXPECT_EQ(baselines[0].reason, "no step of a was measured");
  EXPECT_EQ(baselines[1].predicted_s, 0);
  EXPECT_EQ(predict_baselines(measured(), {}, 2).front().predicted_s, 0);
}

}  // namespace
}  // namespace multicard
