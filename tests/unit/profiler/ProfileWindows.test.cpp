// Windows of this process: what they record of operators, blocks and phases, and when they open.
#include "profiler/ProfileWindows.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <thread>

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "base/Thread.hpp"
#include "device/StepClock.hpp"
#include "io/Hdf5.hpp"
#include "profiler/BlockScope.hpp"
#include "profiler/WorkScope.hpp"
#include "results/ProfileTables.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

/// Steps of a network of two blocks that is computed by hand.
class Steps {
 public:
  explicit Steps(const ProfileOptions& options) : windows(options, at::kCPU), clock_(at::kCPU) {
    clock_.observe(windows.observer());
  }

  void run(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      clock_.pause();
      if (changes()) {
        if (is_open_)
          windows.close(step_, totals_);
        else
          windows.open(step_, totals_);
        is_open_ = !is_open_;
      }
      clock_.resume();
      clock_.begin_step();
      step();
      clock_.end_step();
      totals_["all_reduce"].calls += 2;
      totals_["all_reduce"].payload_bytes += 10;
      ++step_;
    }
  }
  /// What an evaluation does: outside of steps.
  void evaluate() {
    clock_.pause();
    const BlockScope scope("first");
    for (int i = 0; i < 5; ++i)
      at::ones({2}).mul(2);
    clock_.resume();
  }
  /// Whether a window opens or closes before the next step.
  bool changes() const { return windows.is_due(step_) != is_open_; }
  void close() {
    windows.close(step_, totals_);
    is_open_ = false;
  }

  Profile profile() const {
    std::map<std::string, Table> tables;
    for (const auto& [path, table] : windows.tables())
      tables[path] = table_of_ranks({{0, table}});
    return read_profiles(tables).at(0);
  }

  ProfileWindows windows;

 private:
  void step() {
    const at::Tensor weight = at::ones({4, 4}).requires_grad_(true);
    clock_.enter(Phase::forward);
    at::Tensor x = at::ones({4, 4});
    {
      const BlockScope scope("first");
      x = x.mm(weight);
    }
    for (std::int64_t i = 0; i < 2; ++i) {
      const BlockScope scope("blocks", i);
      x = x.mul(weight);
    }
    const at::Tensor loss = x.sum();
    clock_.enter(Phase::backward);
    loss.backward();
    clock_.enter(Phase::update);
    std::thread([] { at::ones({3}).neg(); }).join();
  }

  StepClock clock_;
  std::int64_t step_ = 0;
  bool is_open_ = false;
  ProfileWindows::Totals totals_;
};

ProfileOptions options_of(std::int64_t skip, std::int64_t steps, std::int64_t repeat = 1) {
  ProfileOptions options;
  options.enabled = true;
  options.skip_steps = skip;
  options.steps = steps;
  options.repeat = repeat;
  return options;
}

std::int64_t count_of(const Profile& profile, const std::string& name, const std::string& phase) {
  std::int64_t count = 0;
  for (const OperatorRow& row : profile.operators)
    if (row.name == name && row.phase == phase) count += row.time.count;
  return count;
}

TEST(ProfileWindows, RecordTheOperatorsOfTheirSteps) {
  Steps steps(options_of(2, 3));
  steps.run(7);
  steps.close();
  const Profile profile = steps.profile();
  EXPECT_EQ(profile.num_steps, 3);
  EXPECT_GT(profile.window_ns, 0);
  EXPECT_EQ(count_of(profile, "aten::mm", "forward"), 3);
  EXPECT_EQ(count_of(profile, "aten::mul", "forward"), 6);
  EXPECT_EQ(count_of(profile, "aten::mm", "backward"), 3);
  EXPECT_EQ(count_of(profile, "aten::neg", "update"), 3);  // of threads that start in the window
  ASSERT_EQ(profile.exchanges.size(), 1u);
  EXPECT_EQ(profile.exchanges[0].totals.calls, 6);
  EXPECT_FALSE(profile.threads.empty());
}

TEST(ProfileWindows, CountReadsAndWritesWhileTheyAreOpen) {
  const test::ScratchFolder scratch;
  const auto write = [&](std::size_t count) {
    Hdf5File::create(scratch / "x.h5").write_values("/x", std::vector<float>(count));
  };
  Steps steps(options_of(1, 2));
  write(100);
  steps.run(2);
  write(10);
  steps.run(2);
  write(100);
  const std::vector<FileRow> files = steps.profile().files;
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].name, "write_independent");
  EXPECT_EQ(files[0].totals.calls, 1);
  EXPECT_EQ(files[0].totals.bytes, 40);
}

TEST(ProfileWindows, CountCallsOfMpiWhileTheyAreOpen) {
  Steps steps(options_of(1, 2));
  test::world().barrier();
  steps.run(2);
  test::world().allreduce(1.0, ReduceOp::sum);
  steps.run(2);
  test::world().barrier();
  const std::vector<MpiRow> functions = steps.profile().mpi;
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].name, "MPI_Allreduce");
  EXPECT_EQ(functions[0].calls, 1);
  EXPECT_EQ(functions[0].bytes, 8);
}

TEST(ProfileWindows, DivideForwardAndBackwardByBlocks) {
  Steps steps(options_of(1, 2));
  steps.run(3);
  steps.close();
  const Profile profile = steps.profile();
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const BlockRow& row : profile.blocks) {
    counts[{row.name, row.pass}] = row.time.count;
    EXPECT_GT(row.cost.self_ns, 0) << row.name << " " << row.pass;
  }
  const std::map<std::pair<std::string, std::string>, std::int64_t> expected = {
      {{"first", "forward"}, 2},     {{"first", "backward"}, 2},   {{"blocks.0", "forward"}, 2},
      {{"blocks.0", "backward"}, 2}, {{"blocks.1", "forward"}, 2}, {{"blocks.1", "backward"}, 2}};
  EXPECT_EQ(counts, expected);
  // Self times of a phase add up to no more than the phase: nothing counts twice.
  for (const PhaseRow& phase : profile.phases) {
    if (phase.name == "update") continue;  // two threads
    EXPECT_LE(phase.cost.self_ns, phase.time.total) << phase.name;
  }
}

TEST(ProfileWindows, LeaveOutEvaluations) {
  Steps steps(options_of(0, 4));
  steps.run(1);
  steps.evaluate();
  steps.run(1);
  steps.close();
  const Profile profile = steps.profile();
  EXPECT_EQ(profile.num_steps, 2);
  EXPECT_EQ(count_of(profile, "aten::mul", "forward"), 4);
  EXPECT_EQ(count_of(profile, "aten::mul", ""), 0);
}

TEST(ProfileWindows, RepeatAfterAsManySteps) {
  const ProfileOptions options = options_of(2, 3, 2);
  Steps steps(options);
  std::vector<bool> changes;
  for (int i = 0; i < 14; ++i) {
    changes.push_back(steps.changes());
    steps.run(1);
  }
  const std::vector<bool> expected{false, false, true,  false, false, true,  false,
                                   true,  false, false, true,  false, false, false};
  EXPECT_EQ(changes, expected);
  EXPECT_EQ(steps.profile().num_steps, 6);
  EXPECT_EQ(count_of(steps.profile(), "aten::mm", "forward"), 6);
  EXPECT_EQ(first_profiled_step(options, 0, 100), 2);
  EXPECT_EQ(first_profiled_step(options, 4, 100), 4);
  EXPECT_EQ(first_profiled_step(options, 5, 100), 7);
  EXPECT_EQ(first_profiled_step(options, 10, 100), 100);
  EXPECT_EQ(first_profiled_step(options, 0, 2), 2);
}

TEST(ProfileWindows, GiveATimeLineOfTheirStepsWhereItIsAskedFor) {
  ProfileOptions options = options_of(1, 2);
  options.trace = true;
  Steps steps(options);
  steps.run(2);
  start_thread("a reader", "reader", [] { const WorkScope work(WorkKind::input, "read", 12); }).join();
  steps.run(1);
  steps.close();
  std::thread([] { const WorkScope work(WorkKind::input, "after"); }).join();

  const std::optional<RecordedTimeline> recorded = steps.windows.take_timeline();

  ASSERT_TRUE(recorded);
  const Timeline& timeline = recorded->timeline;
  EXPECT_EQ(timeline.first_step, 1);
  ASSERT_EQ(timeline.steps.size(), 2u);
  EXPECT_LE(timeline.steps[0].end, timeline.steps[1].begin);
  for (const PhaseSpan& phase : recorded->trace.phases) {
    const auto holds = [&](const Span& step) { return step.begin <= phase.begin && phase.end <= step.end; };
    EXPECT_TRUE(phase.phase == Phase::other || std::ranges::any_of(timeline.steps, holds));
  }
  ASSERT_EQ(timeline.work.size(), 1u);
  EXPECT_STREQ(timeline.work[0].name, "read");
  EXPECT_EQ(timeline.work[0].bytes, 12);
  std::set<std::string> counters;
  for (const CounterValue& value : timeline.counters)
    counters.insert(value.name);
  EXPECT_EQ(counters, (std::set<std::string>{"cores", "host tensors"}));
  EXPECT_EQ(timeline.thread_names.at(timeline.work[0].thread), "reader") << "it ended before the window";
  EXPECT_FALSE(steps.windows.take_timeline());
}

TEST(ProfileWindows, ShapesAndMemoryOfOperators) {
  ProfileOptions options = options_of(0, 1);
  options.shapes = options.memory = true;
  Steps steps(options);
  steps.run(1);
  steps.close();
  const Profile profile = steps.profile();
  EXPECT_EQ(count_of(profile, "aten::mm [4, 4] [4, 4]", "forward"), 1);
  std::int64_t bytes = 0;
  for (const PhaseRow& phase : profile.phases)
    if (phase.name == "forward") bytes = phase.cost.allocated_bytes.value_or(0);
  EXPECT_GE(bytes, 4 * 64);  // the input and three products of 16 floats
}

TEST(ProfileWindows, AnotherRunOfTheProcessGoesOnWithoutOne) {
  Steps first(options_of(0, 3)), second(options_of(0, 2));
  first.run(1);
  testing::internal::CaptureStderr();
  second.run(3);
  second.close();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("another run of this process"), std::string::npos);
  EXPECT_TRUE(second.windows.tables().empty());
  first.run(1);
  first.close();
  EXPECT_EQ(count_of(first.profile(), "aten::mm", "forward"), 2);
}

TEST(ProfileWindows, ABlockOutsideOfWindowsLeavesNothing) {
  { const BlockScope scope("early"); }
  Steps steps(options_of(1, 1, 2));
  steps.run(3);
  { const BlockScope scope("between"); }
  steps.run(2);
  EXPECT_EQ(steps.profile().num_steps, 2);
  EXPECT_EQ(steps.profile().blocks.size(), 6u);
}

TEST(ProfileWindows, AreTakenInPartsWhereSomethingElseComesBetween) {
  Steps steps(options_of(1, 4));
  steps.run(3);
  steps.close();
  EXPECT_EQ(steps.profile().num_steps, 2);
  steps.run(4);
  const Profile profile = steps.profile();
  EXPECT_EQ(profile.num_steps, 4);
  EXPECT_EQ(count_of(profile, "aten::mm", "forward"), 4);
  EXPECT_EQ(profile.exchanges[0].totals.calls, 8);
}

}  // namespace
}  // namespace multicard
