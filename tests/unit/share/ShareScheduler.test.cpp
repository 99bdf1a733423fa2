// The scheduler under a share whose time is simulated: no ranks, no runs.

#include "share/ShareScheduler.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/Log.hpp"
#include "scheduling/model/StepTimeModel.hpp"
#include "scheduling/policy/RankMoves.hpp"
#include "share/ShareProgressLine.hpp"
#include "support/expect_error.hpp"

namespace multicard {
namespace {

using Ranges = std::vector<RankSet>;

/// A task whose steps take a known time.
struct TrueTask {
  std::string name;
  std::int64_t num_steps = 1000;
  std::function<double(int)> step_s = [](int ranks) { return 1.0 / ranks; };  ///< by ranks
  std::function<bool(int)> fits = [](int) { return true; };                   ///< into the memory of that many ranks
  int min_ranks = 1;
  double across_s = 0;  ///< that a step takes more on several nodes
};

ShareOptions options_of(SharePolicyName policy, std::size_t num_deck_tasks) {
  ShareOptions options;
  options.policy.name = policy;
  options.tasks.resize(num_deck_tasks);
  return options;
}

/// Does with a scheduler what a share does, `interval_s` a round.
class SimulatedShare {
 public:
  SimulatedShare(const ShareOptions& options, int num_ranks, std::vector<TrueTask> tasks, ShareRecord record = {})
      : SimulatedShare(options, Layout::of_ranks(num_ranks, num_ranks), std::move(tasks), std::move(record)) {}
  SimulatedShare(const ShareOptions& options, const Layout& on, std::vector<TrueTask> tasks, ShareRecord record = {})
      : scheduler(options, on, std::move(record)), layout_(on) {
    set_log_level(LogLevel::error);
    for (TrueTask& task : tasks)
      add(std::move(task));
  }
  ~SimulatedShare() { set_log_level(LogLevel::info); }

  void add(TrueTask task, bool is_resumed = false) {
    TaskNeeds needs;
    needs.name = task.name;
    needs.min_ranks = task.min_ranks;
    needs.global_batch = 64;
    scheduler.add(ScheduledTask(needs, layout_, links), is_resumed);
    completed_.push_back(0);
    tasks_.push_back(std::move(task));
  }

  /// Reports, ends, decides and moves, then trains until the next round.
  void round() {
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (scheduler.task(i).has_ranks() && completed_[i] >= tasks_[i].num_steps)
        scheduler.end(i, {TaskState::complete, ExitCode::complete, true, {}}, now);
    while (scheduler.has_active() && !decide_and_move())
      ;
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (scheduler.task(i).has_ranks()) train(i);
    now += interval_s;
  }

  /// Until all tasks have ended. \return rounds
  int run() {
    int rounds = 0;
    while (scheduler.has_active() && rounds < 1000) {
      round();
      ++rounds;
    }
    scheduler.record().close(now);
    return rounds;
  }

  int ranks(std::size_t task) const { return scheduler.task(task).rank_set().count(); }

  ShareScheduler scheduler;
  std::vector<std::optional<double>> links = {};
  double now = 0, interval_s = 10, move_s = 0.5;

 private:
  bool decide_and_move() {
    const ShareDecision decided = scheduler.decide(now);
    scheduler.adopt(decided, now);
    bool all_moved = true;
    for (const RankMove& move : moves_in_turn(scheduler.rank_sets(), decided.rank_sets)) {
      if (!scheduler.task(move.task).is_active()) continue;
      if (move.to.count() == 0 || tasks_[move.task].fits(move.to.count())) {
        scheduler.note_move(move.task, move.to, move_s, now);
      } else {
        all_moved = false;
        scheduler.refuse_ranks(move.task, move.to.count(), EnvironmentError("too little memory"), now);
      }
    }
    return all_moved;
  }

  void train(std::size_t i) {
    const double across_s = scheduler.task(i).placement().size() > 1 ? tasks_[i].across_s : 0;
    const double step_s = tasks_[i].step_s(ranks(i)) + across_s;
    const auto possible = static_cast<std::int64_t>(std::ceil(interval_s / step_s));
    const std::int64_t done = std::min(possible, tasks_[i].num_steps - completed_[i]);
    completed_[i] += done;
    TaskReport report;
    report.num_completed = completed_[i];
    report.num_steps = tasks_[i].num_steps;
    report.step_s = step_s;
    report.gradient_bytes = 4e6;
    report.new_step_s.assign(std::min<std::size_t>(kMostReported, static_cast<std::size_t>(done)), step_s);
    scheduler.note_report(i, report);
  }

  Layout layout_;
  std::vector<TrueTask> tasks_;
  std::vector<std::int64_t> completed_;
};

TrueTask scales(const std::string& name, std::int64_t num_steps = 1000) {
  return {name, num_steps};
}

/// A step takes as long on any number of ranks.
TrueTask does_not_scale(const std::string& name, std::int64_t num_steps = 1000) {
  return {name, num_steps, [](int) { return 1.0; }};
}

TEST(ShareScheduler, AFixedSplitIsTheDecks) {
  ShareOptions options = options_of(SharePolicyName::fixed, 2);
  options.policy.ranks = {{"a", 3}, {"b", 1}};
  SimulatedShare share(options, 4, {scales("a"), scales("b")});
  share.round();
  EXPECT_EQ(share.scheduler.rank_sets(), (Ranges{{0, 3}, {3, 1}}));
  EXPECT_EQ(share.scheduler.task_on(2), std::size_t{0});
  EXPECT_EQ(share.scheduler.task_on(3), std::size_t{1});
  share.run();
  EXPECT_EQ(share.scheduler.failure(), std::nullopt);
  EXPECT_EQ(share.scheduler.record().changes.size(), 2U);
}

TEST(ShareScheduler, RanksThatBecomeFreeGoToTasksThatWait) {
  SimulatedShare share(options_of(SharePolicyName::equal, 3), 2, {scales("a", 15), scales("b", 1000), scales("c")});
  share.round();
  EXPECT_EQ(share.scheduler.rank_sets(), (Ranges{{0, 1}, {1, 1}, {}}));
  share.round();
  share.round();
  EXPECT_EQ(share.scheduler.rank_sets(), (Ranges{{}, {1, 1}, {0, 1}})) << "a has ended";
  EXPECT_EQ(share.scheduler.task(0).state(), TaskState::complete);
}

TEST(ShareScheduler, TasksRunOneAfterAnother) {
  SimulatedShare share(options_of(SharePolicyName::sequential, 2), 4, {scales("a", 40), scales("b", 40)});
  share.round();
  EXPECT_EQ(share.scheduler.rank_sets(), (Ranges{{0, 4}, {}}));
  share.round();
  EXPECT_EQ(share.scheduler.rank_sets(), (Ranges{{}, {0, 4}}));
}

TEST(ShareScheduler, ExploresFreeRanks) {
  SimulatedShare share(options_of(SharePolicyName::adaptive, 2), 4, {scales("a", 8000), scales("short", 40)});
  share.round();
  EXPECT_EQ(share.scheduler.rank_sets(), (Ranges{{0, 2}, {2, 2}})) << "equally many, to be measured";
  for (int round = 0; round < 6; ++round)
    share.round();
  EXPECT_EQ(share.ranks(0), 4) << "the ranks of the one that has ended";
  share.run();
  EXPECT_LT(share.now, 8000.0 / 4 + 40);
}

TEST(ShareScheduler, KeepsASplitThatIsHardlyWorse) {
  ShareOptions options = options_of(SharePolicyName::adaptive, 2);
  options.policy.min_gain = 0.9;
  SimulatedShare share(options, 4, {scales("a", 4000), does_not_scale("b", 1000)});
  for (int round = 0; round < 6; ++round)
    share.round();
  EXPECT_EQ(share.scheduler.rank_sets(), (Ranges{{0, 2}, {2, 2}}));
  EXPECT_EQ(share.scheduler.record().changes.size(), 2U) << "the first ranks of each";
  ASSERT_FALSE(share.scheduler.record().rejected.empty());
  EXPECT_FALSE(share.scheduler.record().rejected.back().reason.empty());
}

TEST(ShareScheduler, ATaskThatArrivesGetsRanks) {
  SimulatedShare share(options_of(SharePolicyName::adaptive, 1), 4, {scales("a", 4000)});
  for (int round = 0; round < 4; ++round)
    share.round();
  EXPECT_EQ(share.ranks(0), 4);
  share.add(scales("late", 200));
  share.round();
  EXPECT_GT(share.ranks(1), 0);
  EXPECT_GT(share.ranks(0), 0);
  share.run();
  EXPECT_EQ(share.scheduler.task(1).state(), TaskState::complete);
}

TEST(ShareScheduler, ATaskThatCannotArriveIsAFailureOfTheShareAlone) {
  SimulatedShare share(options_of(SharePolicyName::equal, 1), 2, {scales("a", 10)});
  share.scheduler.fail_arrival("late", UsageError("the deck is wrong"));
  share.scheduler.fail_arrival("later", DataError("there is no data"));
  share.run();
  EXPECT_EQ(share.scheduler.task(0).state(), TaskState::complete);
  EXPECT_EQ(share.scheduler.failure(), ExitCode::usage) << "the first one";
  EXPECT_EQ(share.scheduler.failed_arrivals().size(), 2U);
}

TEST(ShareScheduler, ATaskThatDoesNotFitRequestsMoreRanks) {
  TrueTask large = scales("large", 100);
  large.fits = [](int ranks) { return ranks >= 3; };
  SimulatedShare share(options_of(SharePolicyName::adaptive, 2), 4, {large, scales("small", 100)});
  share.round();
  EXPECT_EQ(share.ranks(0), 0) << "it waits until the other one has been measured";
  share.round();
  EXPECT_GE(share.ranks(0), 3);
  share.run();
  EXPECT_EQ(share.scheduler.failure(), std::nullopt);
}

TEST(ShareScheduler, ATaskThatFitsNowhereFails) {
  TrueTask huge = scales("huge", 100);
  huge.fits = [](int) { return false; };
  SimulatedShare share(options_of(SharePolicyName::adaptive, 2), 2, {huge, scales("small", 100)});
  share.run();
  EXPECT_EQ(share.scheduler.task(0).state(), TaskState::failed);
  EXPECT_EQ(share.scheduler.task(1).state(), TaskState::complete);
  EXPECT_EQ(share.scheduler.failure(), ExitCode::environment);
}

TEST(ShareScheduler, AFixedSplitIsNotChangedForATaskThatDoesNotFit) {
  ShareOptions options = options_of(SharePolicyName::fixed, 2);
  options.policy.ranks = {{"large", 2}, {"small", 1}};
  TrueTask large = scales("large", 100);
  large.fits = [](int ranks) { return ranks >= 3; };
  SimulatedShare share(options, 4, {large, scales("small", 30)});
  share.run();
  EXPECT_EQ(share.scheduler.task(0).state(), TaskState::failed);
  EXPECT_NE(share.scheduler.task(0).outcome().error.find("too little memory"), std::string::npos);
  EXPECT_EQ(share.scheduler.task(1).state(), TaskState::complete);
}

TEST(ShareScheduler, TheRanksOfATaskThatFailedAreFree) {
  SimulatedShare share(options_of(SharePolicyName::sequential, 2), 2, {scales("a"), scales("b")});
  share.round();
  share.scheduler.end(0, {TaskState::failed, ExitCode::data, false, "a shard is damaged"}, share.now);
  share.round();
  EXPECT_EQ(share.scheduler.rank_sets(), (Ranges{{}, {0, 2}}));
  EXPECT_EQ(share.scheduler.failure(), ExitCode::data);
  EXPECT_GE(share.scheduler.record().intervals[0].end_s, 0);
}

TEST(ShareScheduler, TasksAreSavedBeforeOnlyMemoryHoldsThemForLong) {
  SimulatedShare share(options_of(SharePolicyName::equal, 2), 4, {scales("a"), scales("b")});
  share.round();
  EXPECT_TRUE(share.scheduler.at_risk({{0, 2}, {2, 2}}).empty());
  EXPECT_TRUE(share.scheduler.at_risk({{1, 2}, {2, 2}}).empty()) << "it has run on two";
  EXPECT_EQ(share.scheduler.at_risk({{0, 3}, {2, 2}}), (std::vector<std::size_t>{0}));
  EXPECT_EQ(share.scheduler.at_risk({{0, 2}, {}}), (std::vector<std::size_t>{1})) << "it will wait";
}

TEST(ShareScheduler, TasksThatWaitAreStoppedWithTheShare) {
  SimulatedShare share(options_of(SharePolicyName::sequential, 2), 2, {scales("a"), scales("b")});
  share.round();
  share.scheduler.end(0, {TaskState::stopped, ExitCode::complete, true, {}}, share.now);
  share.scheduler.stop_waiting();
  EXPECT_FALSE(share.scheduler.has_active());
  EXPECT_TRUE(share.scheduler.is_any_stopped());
  EXPECT_FALSE(share.scheduler.task(1).outcome().is_stored);
  EXPECT_TRUE(share.scheduler.baselines().empty()) << "they are about tasks that are complete";
}

TEST(ShareScheduler, ATaskThatNeedsMoreRanksThanThereAreIsRefused) {
  SimulatedShare share(options_of(SharePolicyName::equal, 1), 2, {});
  TrueTask wide = scales("wide");
  wide.min_ranks = 3;
  const std::string message = test::message_of<Error>([&] { share.add(wide); });
  EXPECT_NE(message.find("task wide cannot run (it needs 3 ranks, and can have 2 here)"), std::string::npos) << message;
  EXPECT_EQ(share.scheduler.num_tasks(), 0U);
}

TEST(ShareScheduler, BaselinesAddUpWhatWasMeasured) {
  SimulatedShare share(options_of(SharePolicyName::equal, 2), 2, {does_not_scale("a", 100), does_not_scale("b", 50)});
  share.run();
  const std::vector<AllocationBaseline> baselines = share.scheduler.baselines();
  ASSERT_EQ(baselines.size(), 2U);
  EXPECT_EQ(baselines[1].policy, "equal");
  EXPECT_NEAR(baselines[1].predicted_s, 100, 1e-9);
}

TEST(ShareScheduler, StepsOfUnknownRanksHaveNoBaselines) {
  SimulatedShare share(options_of(SharePolicyName::equal, 1), 2, {});
  share.add(scales("a", 20), true);  // resumed, without a record
  share.run();
  EXPECT_EQ(share.scheduler.record().num_ranks, ShareRecord::kSeveral);
  EXPECT_TRUE(share.scheduler.baselines().empty());

  ShareRecord before;
  before.progress["a"].num_completed = 3;
  before.begin(2);
  SimulatedShare again(options_of(SharePolicyName::equal, 1), 2, {}, before);
  again.add(scales("a", 20), true);
  again.run();
  EXPECT_EQ(again.scheduler.record().num_ranks, 2);
  EXPECT_EQ(again.scheduler.baselines().size(), 2U);
}

TEST(ShareScheduler, DecidesNothingOnceAllHaveEnded) {
  SimulatedShare share(options_of(SharePolicyName::adaptive, 1), 2, {scales("a", 5)});
  share.run();
  const ShareDecision decided = share.scheduler.decide(share.now);
  EXPECT_TRUE(decided.active.empty());
  EXPECT_EQ(decided.rank_sets, Ranges{{}});
}

TEST(ShareScheduler, ProgressNamesWhatRuns) {
  SimulatedShare share(options_of(SharePolicyName::sequential, 2), 2, {does_not_scale("a", 100), scales("b")});
  share.round();
  EXPECT_EQ(progress_text(share.scheduler, 8),
            "a 2 ranks, 1 steps/s, 1 min 30 s left | b 0 ranks; next decision in 8 s");
  EXPECT_EQ(progress_text(share.scheduler, 8, 60), "a 2 ranks, 1 steps/s, 1 min 30 s left | b 0 ranks");
  EXPECT_EQ(progress_text(share.scheduler, 8, 40), "a 2 ranks, 1 min 30 s left | b 0 ranks");
  EXPECT_EQ(progress_text(share.scheduler, 8, 10), "a 2 | b 0");
  EXPECT_EQ(progress_text(share.scheduler, 8, 3), "a 2");
}

/// Links between nodes that take 2 s for the gradients of a task, and next to nothing within a node.
std::vector<std::optional<double>> slow_links() {
  std::vector<std::optional<double>> links(static_cast<std::size_t>(StepTerm::count));
  const auto set = [&](StepTerm term, double value) { links[static_cast<std::size_t>(term)] = value; };
  for (const StepTerm term :
       {StepTerm::local_log, StepTerm::global_log, StepTerm::global_adapter, StepTerm::global_step})
    set(term, 0);
  set(StepTerm::local_latency, 1e-5);
  set(StepTerm::local_volume, 1e-10);
  set(StepTerm::global_latency, 1e-3);
  set(StepTerm::global_volume, 2 / 4e6);
  return links;
}

/// Two tasks with 2 ranks each on two nodes with 2, numbered as mpirun --map-by node does.
struct TwoNodes {
  explicit TwoNodes(const ShareOptions& options) : share(options, Layout::of_nodes({0, 1, 0, 1}), {}) {
    share.links = slow_links();
    for (TrueTask task : {scales("a", 4000), scales("b", 4000)}) {
      task.across_s = 2;
      share.add(task);
    }
  }
  SimulatedShare share;
};

TEST(ShareScheduler, TasksHaveANodeEachWhereThatIsFasterAndTheRecordSaysWhy) {
  TwoNodes two(options_of(SharePolicyName::adaptive, 2));
  two.share.round();
  two.share.round();
  EXPECT_EQ(two.share.scheduler.rank_sets(),
            (Ranges{RankSet(std::vector<int>{0, 2}), RankSet(std::vector<int>{1, 3})}));
  const ShareRecord& record = two.share.scheduler.record();
  ASSERT_EQ(record.placements.size(), 4U) << "of each task that chosen and the other";
  for (std::size_t row : {0U, 2U}) {
    EXPECT_EQ(record.placements[row].placement, "2");
    EXPECT_EQ(record.placements[row].is_chosen, 1);
    EXPECT_NEAR(record.placements[row].predicted_step_s, 0.5, 1e-6);
    EXPECT_EQ(record.placements[row + 1].placement, "1+1");
    EXPECT_EQ(record.placements[row + 1].is_chosen, 0);
    EXPECT_NEAR(record.placements[row + 1].predicted_step_s, 2.5, 0.1) << "never measured: by the links";
  }
  EXPECT_EQ(record.intervals[0].placement, "2");
  EXPECT_EQ(record.intervals[0].rank_list, "0, 2");
  two.share.round();
  EXPECT_EQ(record.placements.size(), 4U) << "once";
}

TEST(ShareScheduler, TasksAreSpreadOverTheNodesOnRequest) {
  ShareOptions options = options_of(SharePolicyName::equal, 2);
  options.policy.placement = Spread::spread;
  TwoNodes two(options);
  two.share.round();
  for (std::size_t task : {0U, 1U})
    EXPECT_EQ(two.share.scheduler.task(task).placement(), (NodeCounts{1, 1}));
  two.share.round();
  EXPECT_EQ(two.share.scheduler.record().intervals[0].measured_step_s, 2.5);
}

}  // namespace
}  // namespace multicard
