#include "scheduling/replay/MeasuredJobs.hpp"

#include <gtest/gtest.h>

#include "unit/scheduling/replay/replay_jobs.hpp"

namespace multicard {
namespace {

const std::map<int, double> kSeconds{{1, 1000}, {2, 520}, {4, 280}};

TEST(MeasuredJobs, KnowARateOnceAJobHasRun) {
  ReplayJob job(test::request("job", 0, 1, kSeconds));
  MeasuredJobs measured({1, 4}, 30, RemainingWork::known);

  measured.observe(job);
  EXPECT_EQ(job.view().usable_ranks, (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(job.view().max_ranks, 4);
  EXPECT_EQ(job.view().move_s, 30);
  EXPECT_TRUE(job.view().is_unknown());

  job.allocate({{0, 2}}, 30);
  measured.observe(job);
  EXPECT_TRUE(job.view().is_unknown()) << "it waits to start";

  job.advance(0, 60);
  measured.observe(job);
  EXPECT_NEAR(rate_on(job.view(), 2), 1 / 520.0, 1e-12);
  EXPECT_TRUE(job.view().unproven.contains(4));
  EXPECT_EQ(job.view().proven_on, (std::set<int>{2}));
}

TEST(MeasuredJobs, ExpectAsMuchAgainWhereTheRemainingWorkIsUnknown) {
  for (const RemainingWork work : {RemainingWork::known, RemainingWork::unknown}) {
    ReplayJob job({"job", 0, 1, std::make_shared<TableModel>(std::map<int, double>{{1, 10}}, 100)});
    MeasuredJobs measured({1, 1}, 0, work);
    measured.observe(job);
    job.allocate({{0, 1}}, 0);
    job.advance(0, 300);
    measured.observe(job);
    EXPECT_NEAR(job.view().steps_left, work == RemainingWork::known ? 70 : 30, 1e-9);
  }
}

TEST(MeasuredJobs, LeaveOutJobsThatCannotRun) {
  ReplayJob job(test::request("job", 0, 8, {{8, 100}}));
  MeasuredJobs measured({1, 4}, 30, RemainingWork::known);
  measured.observe(job);
  EXPECT_EQ(usable_within(job.view(), 4), 0);
}

}  // namespace
}  // namespace multicard
