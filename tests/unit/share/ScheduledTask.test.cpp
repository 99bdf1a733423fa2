#include "share/ScheduledTask.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

const Layout kLayout = Layout::of_ranks(4, 4);

TaskNeeds needs(std::int64_t batch = 16) {
  TaskNeeds needs;
  needs.name = "a";
  needs.global_batch = batch;
  return needs;
}

TaskReport report(std::int64_t completed, double step_s, std::size_t number = 10) {
  TaskReport report;
  report.num_completed = completed;
  report.num_steps = 100;
  report.step_s = step_s;
  report.gradient_bytes = 4e6;
  report.new_step_s.assign(number, step_s);
  return report;
}

TEST(ScheduledTask, UsesRanksThatItsBatchAllows) {
  EXPECT_EQ(ScheduledTask(needs(), kLayout).max_ranks(4), 4);
  EXPECT_EQ(ScheduledTask(needs(3), kLayout).max_ranks(4), 3) << "at least a row each";
  TaskNeeds some = needs();
  some.can_run_on = [](int ranks) { return ranks != 4 && ranks != 3; };
  EXPECT_EQ(ScheduledTask(some, kLayout).max_ranks(4), 2);
  some.min_ranks = 3;
  EXPECT_EQ(ScheduledTask(some, kLayout).max_ranks(4), 3) << "its least number stays";
  some = needs();
  some.max_ranks = 2;
  EXPECT_EQ(ScheduledTask(some, kLayout).max_ranks(4), 2);
}

TEST(ScheduledTask, RequestsMoreRanksWhereItDoesNotFit) {
  ScheduledTask task(needs(), kLayout);
  EXPECT_TRUE(task.refuse(1, 4));
  EXPECT_EQ(task.least_ranks(), 2);
  EXPECT_TRUE(task.refuse(2, 4));
  EXPECT_TRUE(task.refuse(3, 4));
  EXPECT_FALSE(task.refuse(4, 4)) << "nothing is left";
}

TEST(ScheduledTask, RequestsFewerRanksWhereItHasRunOnFewer) {
  ScheduledTask task(needs(), kLayout);
  task.run_on({0, 2});
  EXPECT_TRUE(task.refuse(3, 4));
  EXPECT_EQ(task.max_ranks(4), 2);
  EXPECT_FALSE(task.refuse(2, 4)) << "it ran there: the cause is another error";
}

TEST(ScheduledTask, ShowsPoliciesWhatItsStepsHaveShown) {
  ScheduledTask task(needs(), kLayout);
  EXPECT_TRUE(task.view(4).is_unknown());
  task.run_on({1, 2});
  EXPECT_FALSE(task.is_measured());
  EXPECT_FALSE(task.time_left());
  task.note(report(40, 0.5));
  task.note_move(3);
  const TaskView view = task.view(4);
  EXPECT_EQ(view.ranks(), 2);
  EXPECT_EQ(view.steps_left, 60);
  EXPECT_NEAR(rate_on(view, 2), 2, 1e-9);
  EXPECT_EQ(view.proven_on, (std::set<int>{2}));
  EXPECT_EQ(view.move_s, 3);
  EXPECT_EQ(view.save_s, 3) << "as long as a move until it has been measured";
  EXPECT_NEAR(task.time_left().value(), 30, 1e-9);
  EXPECT_TRUE(task.is_measured());
  task.note_checkpoint(0.25);
  EXPECT_EQ(task.view(4).save_s, 0.25);
  task.run_on({0, 4});
  EXPECT_FALSE(task.is_measured()) << "not on these";
}

TEST(ScheduledTask, KeepsStepsOfEachPlacementApart) {
  ScheduledTask task(needs(), Layout::of_ranks(4, 2));
  task.run_on({1, 2});
  EXPECT_EQ(task.placement(), (NodeCounts{1, 1}));
  task.note(report(10, 0.5));
  EXPECT_TRUE(task.is_measured());
  task.run_on({2, 2});
  EXPECT_EQ(task.placement(), NodeCounts{2});
  EXPECT_FALSE(task.is_measured());
  task.note(report(20, 0.1));
  const TaskView view = task.view(4);
  EXPECT_NEAR(rate_on(view, {2, 1}), 10, 1e-9);
  EXPECT_NEAR(rate_on(view, {2, 2}), 2, 1e-9);
}

TEST(ScheduledTask, CheckpointsAreDueAtIntervals) {
  ScheduledTask task(needs(), kLayout);
  std::vector<double> due;
  for (const double now : {100.0, 109.0, 110.0, 119.0, 125.0, 134.0, 135.0})
    if (task.is_checkpoint_due(now, 10)) due.push_back(now);
  EXPECT_EQ(due, (std::vector<double>{110, 125, 135}));
}

TEST(ScheduledTask, HasNoRanksOnceItHasEnded) {
  ScheduledTask task(needs(), kLayout);
  task.run_on({0, 2});
  task.end({TaskState::failed, ExitCode::data, false, "why"});
  EXPECT_FALSE(task.is_active());
  EXPECT_FALSE(task.has_ranks());
  EXPECT_EQ(task.state(), TaskState::failed);
  EXPECT_EQ(task.outcome().error, "why");
}

}  // namespace
}  // namespace multicard
