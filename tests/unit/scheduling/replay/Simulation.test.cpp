#include "scheduling/replay/Simulation.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "scheduling/policy/FifoPolicy.hpp"
#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

TEST(Simulation, DecidesEveryRoundAndWaitsForStarts) {
  FifoPolicy policy({1, 1}, Backfill::no);

  // Submitted at 61 s: decided at 120 s, started at 150 s, complete at 250 s. The next one is decided at 300 s.
  const std::vector<JobOutcome> outcomes =
      simulate({test::request("a", 61, 1, {{1, 100}}), test::request("b", 61, 1, {{1, 10}})}, policy, {1, 4}, {});

  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].name, "a");
  EXPECT_EQ(outcomes[0].completion_s, 250);
  EXPECT_EQ(outcomes[0].seconds(), 189);
  EXPECT_EQ(outcomes[1].completion_s, 340);
}

TEST(Simulation, TakesASubmissionInItsRound) {
  FifoPolicy policy({1, 1}, Backfill::no);

  EXPECT_EQ(simulate({test::request("a", 60, 1, {{1, 10}})}, policy, {1, 4}, {}).front().completion_s, 100);
  EXPECT_EQ(simulate({test::request("a", 0, 1, {{1, 10}})}, policy, {1, 4}, {}).front().completion_s, 100);
}

TEST(Simulation, PassesOverTheTimeInWhichNothingRuns) {
  FifoPolicy policy({1, 1}, Backfill::no);

  const std::vector<JobOutcome> outcomes =
      simulate({test::request("a", 0, 1, {{1, 10}}), test::request("b", 6e8 + 1, 1, {{1, 10}})}, policy, {1, 4}, {});

  EXPECT_EQ(outcomes[1].seconds(), 99);
}

TEST(Simulation, EndsWhereAJobCanNeverRun) {
  FifoPolicy policy({1, 2}, Backfill::no);

  EXPECT_THROW(simulate({test::request("a", 0, 4, {{4, 10}})}, policy, {1, 4}, {}), DataError);
}

TEST(Simulation, EndsAfterSoManyRoundsThatNoWorkloadNeedsThem) {
  FifoPolicy policy({1, 1}, Backfill::no);

  try {
    simulate({test::request("endless", 0, 1, {{1, 1e15}})}, policy, {1, 1}, {});
    FAIL() << "it ended";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("the oldest of which is endless"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace multicard
