#include "results/MeasuredSteps.hpp"

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

/// Five steps; in step i another rank is the slowest: it takes 2 s, the others 1 s, a quarter of it forward.
RankRecord record_of(int rank, int num_ranks) {
  RankRecord record;
  for (int i = 0; i < 5; ++i) {
    StepTimes times;
    times.step = i % num_ranks == rank ? 2 : 1;
    times.phases[static_cast<std::size_t>(Phase::forward)] = times.step / 4;
    record.steps.push_back(times);
    record.samples.push_back(1);
    record.counts["tokens"].push_back(10 * (rank + 1));
  }
  return record;
}

RunSummary summary_of(std::int64_t skip_steps) {
  RunSummary summary;
  summary.skip_steps = skip_steps;
  return summary;
}

TEST(MeasuredSteps, RateIsTheTokensOfAllRanksOverTheSlowestRanksTime) {
  const int ranks = world().size();

  const MeasuredSteps steps =
      measure_steps(summary_of(2), {{world().rank(), record_of(world().rank(), ranks)}}, world());

  const double tokens = 10.0 * ranks * (ranks + 1) / 2;
  EXPECT_EQ(steps.num_skipped, 2);
  ASSERT_EQ(steps.seconds.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(steps.seconds[i], 2);
    EXPECT_EQ(steps.rates[i], tokens / 2);
  }
  EXPECT_DOUBLE_EQ(steps.percent(Phase::forward), 25);
  EXPECT_EQ(steps.percent(Phase::update), 0);
}

TEST(MeasuredSteps, StepsAfterEachResumptionAndThoseWithoutAllRanksAreLeftOut) {
  RunSummary summary = summary_of(1);
  summary.segments = {{0, 1}, {2, world().size()}};
  RankRecord mine = record_of(world().rank(), world().size());
  if (world().rank() > 0) mine.steps[0] = mine.steps[1] = absent_step();

  const MeasuredSteps steps = measure_steps(summary, {{world().rank(), mine}}, world());

  EXPECT_EQ(steps.seconds.size(), world().size() == 1 ? 3U : 2U);  // 1, 3, 4 of a single rank
  EXPECT_EQ(steps.num_skipped, 1);
}

TEST(MeasuredSteps, AShortRunCountsWithAllItsSteps) {
  const MeasuredSteps steps =
      measure_steps(summary_of(5), {{world().rank(), record_of(world().rank(), world().size())}}, world());

  EXPECT_EQ(steps.seconds.size(), 5U);
  EXPECT_EQ(steps.num_skipped, 0);
}

TEST(MeasuredSteps, ARankMayHoldRowsOfRanksThatHaveGone) {
  RankRows rows{{world().rank(), record_of(world().rank(), world().size())}};
  if (world().rank() == 0) rows[world().size()] = record_of(0, 1);

  const MeasuredSteps steps = measure_steps(summary_of(0), rows, world());

  const int all = world().size() + 1;
  EXPECT_EQ(steps.rates.at(0), 5.0 * (all * (all - 1) / 2 + 1));  // the row that has gone is like rank 0's
}

}  // namespace
}  // namespace multicard
