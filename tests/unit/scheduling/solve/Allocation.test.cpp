// Schedules: that they are possible, and that none is better.

#include "scheduling/solve/Allocation.hpp"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "scheduling/solve/StaticSplit.hpp"
#include "unit/scheduling/solve/Mixes.hpp"

namespace multicard {
namespace {

constexpr Objective kTimes[] = {Objective::makespan, Objective::average_completion};

double rate_of(const AllocationProblem& problem, const ScheduleEntry& entry) {
  double rate = 0;
  for (const Choice& choice : problem.tasks[entry.task].table.usable(problem.machine))
    if (choice.gpus == entry.gpus && (choice.nodes == 0 || choice.nodes == entry.nodes))
      rate = std::max(rate, choice.rate);
  return rate;
}

/// Every task does its work, and never more GPUs are used than there are.
void expect_possible(const AllocationProblem& problem, const TaskSchedule& schedule) {
  std::vector<double> done(problem.tasks.size(), 0);
  std::set<double> times;
  for (const ScheduleEntry& entry : schedule) {
    EXPECT_LT(entry.start_s, entry.end_s);
    done[entry.task] += rate_of(problem, entry) * (entry.end_s - entry.start_s);
    times.insert(entry.start_s);
  }
  for (std::size_t task = 0; task < done.size(); ++task)
    EXPECT_NEAR(done[task], problem.tasks[task].work, 1e-9 * problem.tasks[task].work);
  for (const double time : times) {
    int gpus = 0;
    std::set<std::size_t> tasks;
    for (const ScheduleEntry& entry : schedule) {
      if (entry.start_s > time || entry.end_s <= time) continue;
      gpus += entry.gpus;
      EXPECT_TRUE(tasks.insert(entry.task).second);
    }
    EXPECT_LE(gpus, problem.machine.gpus());
  }
}

/// The best schedule of at most two phases: a split until its first task ends, then the best split of what is left.
double best_of_two_phases(const AllocationProblem& problem) {
  std::vector<Split> splits{{}};
  for (const AllocationTask& task : problem.tasks) {
    std::vector<Choice> choices = task.table.usable(problem.machine);
    choices.push_back({});
    std::vector<Split> longer;
    for (const Split& split : splits)
      for (const Choice& choice : choices) {
        longer.push_back(split);
        longer.back().push_back(choice);
      }
    splits = std::move(longer);
  }
  double best = std::numeric_limits<double>::infinity();
  for (const Split& first : splits) {
    int gpus = 0;
    for (const Choice& choice : first)
      gpus += choice.gpus;
    if (gpus > problem.machine.gpus()) continue;
    for (std::size_t ending = 0; ending < first.size(); ++ending) {
      if (first[ending].gpus == 0) continue;
      const double seconds = problem.tasks[ending].work / first[ending].rate;
      AllocationProblem rest = problem;
      double longest = 0, sum = 0, weights = 0;
      rest.tasks.clear();
      for (std::size_t task = 0; task < first.size(); ++task) {
        const AllocationTask& one = problem.tasks[task];
        const double end = first[task].gpus > 0 ? one.work / first[task].rate : std::numeric_limits<double>::infinity();
        weights += one.weight;
        if (end <= seconds) {
          longest = std::max(longest, end);
          sum += one.weight * end;
        } else {
          sum += one.weight * seconds;
          rest.tasks.push_back(one);
          if (first[task].gpus > 0) rest.tasks.back().work -= seconds * first[task].rate;
        }
      }
      if (!rest.tasks.empty()) {
        const std::optional<Split> second = best_static_split(rest);
        if (!second) continue;
        longest = seconds + value_of({Objective::makespan, rest.machine, rest.tasks}, *second);
        for (std::size_t i = 0; i < second->size(); ++i)
          sum += rest.tasks[i].weight * (rest.tasks[i].work / (*second)[i].rate);
      }
      best = std::min(best, problem.objective == Objective::makespan ? longest : sum / weights);
    }
  }
  return best;
}

/// Calls `check` with random problems of both objectives about time and what was found, which is possible.
template <class Check>
void for_each_mix(unsigned seed, const MixShape& shape, int count, const Check& check) {
  std::mt19937 random(seed);
  for (int mix = 0; mix < count; ++mix)
    for (const Objective objective : kTimes) {
      SCOPED_TRACE(mix);
      const AllocationProblem problem = random_mix(random, shape, objective);
      const std::optional<Allocation> found = allocate(problem, ScheduleKind::any);
      ASSERT_TRUE(found);
      expect_possible(problem, found->schedule);
      check(problem, *found);
    }
}

TEST(Allocation, IsNeverWorseThanSplitsSequencesAndTwoPhases) {
  int num_better = 0;
  for_each_mix(11, {.most_tasks = 4, .most_rows = 4, .machine = {1, 10}}, 300,
               [&](const AllocationProblem& problem, const Allocation& found) {
                 const double limit = 1 + 1e-9;
                 const std::optional<Split> split = best_static_split(problem);
                 if (split) {
                   EXPECT_LE(found.value, value_of(problem, *split) * limit);
                 }
                 if (found.equal) {
                   EXPECT_LE(found.value, *found.equal * limit);
                 }
                 EXPECT_LE(found.value, *found.sequential * limit);
                 EXPECT_LE(found.value, best_of_two_phases(problem) * limit);
                 EXPECT_NEAR(found.value, found.bound, 1e-7 * found.value);  // so it is the best of all
                 num_better += !split || found.value < value_of(problem, *split) * (1 - 1e-6) ? 1 : 0;
               });
  EXPECT_GT(num_better, 200);
}

TEST(Allocation, OfManyTasksIsPossibleAndWithinItsBound) {
  for_each_mix(12, {.most_tasks = 12, .most_rows = 6, .machine = {1, 32}}, 60,
               [&](const AllocationProblem& problem, const Allocation& found) {
                 EXPECT_GE(found.value, found.bound);
                 EXPECT_LE(found.value, *found.sequential * (1 + 1e-9));
                 if (problem.objective == Objective::makespan) {
                   EXPECT_NEAR(found.value, found.bound, 1e-7 * found.value);
                 }
               });
}

TEST(Allocation, OfLargeMachinesIsPossibleAndNearItsBound) {
  std::mt19937 random(15);
  for (int mix = 0; mix < 10; ++mix)
    for (const Objective objective : kTimes) {
      AllocationProblem problem{objective, {1, 300}, {}};
      for (int task = 0; task < 8; ++task) {
        std::vector<RateRow> rows;
        double rate = 0;
        for (int gpus = 1; gpus <= 300; ++gpus) {
          rate += std::uniform_real_distribution<double>(0, 1)(random) / std::sqrt(gpus);
          rows.push_back({gpus, 0, rate, 0});
        }
        problem.tasks.push_back({"", RateTable(rows), std::uniform_real_distribution<double>(10, 100)(random), 1});
      }
      const std::optional<Allocation> found = allocate(problem, ScheduleKind::any);
      ASSERT_TRUE(found);
      expect_possible(problem, found->schedule);
      EXPECT_GE(found->value, found->bound);
      EXPECT_LE(found->value, *found->sequential * (1 + 1e-9));
      if (objective == Objective::makespan) {
        EXPECT_LE(found->value, found->bound * 1.01);
      }
    }
}

TEST(Allocation, PlacesEveryPhaseOnNodes) {
  for_each_mix(13, {.most_tasks = 4, .most_rows = 4, .machine = {3, 2}, .has_nodes = true}, 100,
               [&](const AllocationProblem& problem, const Allocation& found) {
                 const std::optional<Split> split = best_static_split(problem);
                 if (split) {
                   EXPECT_LE(found.value, value_of(problem, *split) * (1 + 1e-9));
                 }
               });
}

TEST(Allocation, RunsTasksAfterOneAnotherWhereThatIsFaster) {
  // Both need the whole machine to be fast, as large language models do.
  const RateTable cliff({{8, 0, 0.1, 0}, {16, 0, 0.9, 0}});
  const AllocationProblem problem{Objective::makespan, {2, 8}, {{"a", cliff, 9, 1}, {"b", cliff, 18, 1}}};

  const std::optional<Allocation> any = allocate(problem, ScheduleKind::any);
  const std::optional<Allocation> split = allocate(problem, ScheduleKind::static_split);

  ASSERT_TRUE(any && split);
  EXPECT_DOUBLE_EQ(any->value, 30);
  EXPECT_DOUBLE_EQ(split->value, 180);
  ASSERT_EQ(any->schedule.size(), 2U);
  EXPECT_EQ(any->schedule[0].end_s, any->schedule[1].start_s);
  EXPECT_EQ(any->schedule[0].nodes, 2);
}

TEST(Allocation, IsTheSameForTheSameProblem) {
  std::mt19937 random(14);
  const MixShape shape{.most_tasks = 10, .most_rows = 8, .machine = {1, 24}, .has_whole_rates = true};
  for (int mix = 0; mix < 20; ++mix)
    for (const Objective objective : kObjectives) {
      const AllocationProblem problem = random_mix(random, shape, objective);
      const std::optional<Allocation> first = allocate(problem, ScheduleKind::any),
                                      second = allocate(problem, ScheduleKind::any);
      ASSERT_TRUE(first && second);
      ASSERT_EQ(first->schedule.size(), second->schedule.size());
      for (std::size_t i = 0; i < first->schedule.size(); ++i) {
        EXPECT_EQ(first->schedule[i].gpus, second->schedule[i].gpus);
        EXPECT_EQ(first->schedule[i].end_s, second->schedule[i].end_s);
      }
    }
}

TEST(Allocation, HasBaselinesOnlyWhereTheyExist) {
  const RateTable large({{6, 0, 2.0, 0}});
  AllocationProblem problem{Objective::makespan, {1, 8}, {{"a", large, 4, 1}, {"b", large, 6, 1}}};

  const std::optional<Allocation> found = allocate(problem, ScheduleKind::any);

  ASSERT_TRUE(found);
  EXPECT_FALSE(found->equal);
  EXPECT_DOUBLE_EQ(found->sequential.value_or(0), 5);
  EXPECT_FALSE(allocate(problem, ScheduleKind::static_split));
  problem.machine = {1, 4};
  EXPECT_FALSE(allocate(problem, ScheduleKind::any));
}

TEST(Allocation, OfRatesNeedsNoWork) {
  const RateTable table({{1, 0, 2.0, 0}, {4, 0, 5.0, 0}});
  const AllocationProblem problem{Objective::weighted_throughput, {1, 5}, {{"a", table, 0, 1}, {"b", table, 10, 2}}};

  const std::optional<Allocation> found = allocate(problem, ScheduleKind::any);

  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->value, 2 + 2 * 5);
  EXPECT_FALSE(found->sequential);
  EXPECT_TRUE(std::isinf(found->schedule[0].end_s));
  EXPECT_DOUBLE_EQ(found->schedule[1].end_s, 2);
}

}  // namespace
}  // namespace multicard
