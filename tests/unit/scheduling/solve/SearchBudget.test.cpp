// Searches that may not try everything.

#include "scheduling/solve/SearchBudget.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "scheduling/solve/Allocation.hpp"
#include "unit/scheduling/solve/Mixes.hpp"

namespace multicard {
namespace {

constexpr double kRounding = 1e-9;

ScheduleKind kind_of(int number) {
  return number == 0 ? ScheduleKind::any : ScheduleKind::static_split;
}

/// `value` is no better than `limit`.
void expect_no_better(Objective objective, double value, double limit) {
  const double room = kRounding * (1 + std::abs(limit));
  EXPECT_FALSE(is_better(objective, value, is_maximised(objective) ? limit + room : limit - room))
      << value << " against " << limit << ", objective " << static_cast<int>(objective);
}

/// As many rows for each task as there are GPUs, on one node or for each number of nodes.
AllocationProblem large_problem(int num_tasks, const Machine& machine, Objective objective, bool has_nodes) {
  std::mt19937 random(7);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  AllocationProblem problem{objective, machine, {}};
  for (int task = 0; task < num_tasks; ++task) {
    const double serial = between(0.001, 0.1);
    std::vector<RateRow> rows;
    for (int gpus = 1; gpus <= machine.gpus(); ++gpus) {
      const double rate = between(0.7, 1) / (serial + (1 - serial) / gpus);
      const int least = (gpus + machine.gpus_per_node - 1) / machine.gpus_per_node;
      for (int nodes = least; nodes <= std::min(machine.nodes, gpus) && has_nodes; ++nodes)
        rows.push_back({gpus, nodes, rate * (1 - 0.03 * (nodes - least)), 0});
      if (!has_nodes) rows.push_back({gpus, 0, rate, 0});
    }
    problem.tasks.push_back({"", RateTable(std::move(rows)), between(100, 1000), 1.0 + task % 3});
  }
  return problem;
}

TEST(SearchBudget, EndsForGoodWhenItIsSpent) {
  SearchBudget budget(100);

  EXPECT_TRUE(budget.take(60));
  EXPECT_EQ(budget.end(), SearchEnd::complete);
  EXPECT_TRUE(budget.take(60));  // what has begun is done
  EXPECT_TRUE(budget.is_spent());
  EXPECT_FALSE(budget.take(1));
  EXPECT_EQ(budget.end(), SearchEnd::work_limit);
}

TEST(SearchBudget, HasALimitOfTimeForSlowMachines) {
  SearchBudget budget(1000, -1);

  EXPECT_FALSE(budget.take(1));
  EXPECT_TRUE(budget.is_spent());
  EXPECT_EQ(budget.end(), SearchEnd::time_limit);
}

TEST(SearchBudget, LeavesAValueBetweenTheBestAndTheBound) {
  std::mt19937 random(21);
  int num_cut = 0, num_complete = 0, num_none = 0;
  for (int mix = 0; mix < 600; ++mix) {
    const MixShape shape{
        .most_tasks = 6, .most_rows = 5, .machine = {3, 4}, .has_nodes = mix % 3 > 0, .has_whole_rates = mix % 2 > 0};
    const AllocationProblem problem = random_mix(random, shape, kObjectives[mix % 4]);
    const ScheduleKind kind = kind_of(mix % 5 % 2);
    const std::optional<Allocation> best = allocate(problem, kind);
    SearchBudget budget(std::int64_t{20} << (mix % 12));

    const std::optional<Allocation> found = allocate(problem, kind, budget);

    if (!found) {
      EXPECT_TRUE(!best || budget.end() != SearchEnd::complete);
      ++num_none;
      continue;
    }
    ASSERT_TRUE(best);
    EXPECT_EQ(best->search, SearchEnd::complete);
    EXPECT_EQ(found->search, budget.end());
    expect_no_better(problem.objective, found->value, best->bound);
    expect_no_better(problem.objective, best->value, found->bound);
    expect_no_better(problem.objective, found->value, found->bound);
    if (found->search == SearchEnd::complete) {
      EXPECT_EQ(found->value, best->value);
      ++num_complete;
    } else {
      ++num_cut;
    }
  }
  EXPECT_GT(num_cut, 100);
  EXPECT_GT(num_complete, 50);
  EXPECT_LT(num_none, 300);
}

TEST(SearchBudget, BoundsTheWorkOf256TasksOn64Gpus) {
  for (const bool has_nodes : {false, true})
    for (const Objective objective : kObjectives)
      for (const int kind : {0, 1}) {
        const AllocationProblem problem =
            large_problem(256, has_nodes ? Machine{8, 8} : Machine{1, 64}, objective, has_nodes);
        constexpr std::int64_t most = 100'000'000;
        SearchBudget budget(most, 60);

        const std::optional<Allocation> found = allocate(problem, kind_of(kind), budget);

        // A part of the search that had begun when it was spent may end.
        EXPECT_GT(budget.operations_left(), -most / 10);
        EXPECT_NE(budget.end(), SearchEnd::time_limit);
        const bool can_run = !is_about_time(objective) || kind == 0;
        ASSERT_EQ(found.has_value(), can_run) << static_cast<int>(objective);
        if (!found) continue;
        expect_no_better(objective, found->value, found->bound);
        EXPECT_FALSE(found->schedule.empty());
        if (found->sequential) expect_no_better(objective, *found->sequential, found->value);
      }
}

TEST(SearchBudget, GivesTheSameAllocationAgain) {
  const AllocationProblem problem = large_problem(40, {4, 8}, Objective::average_completion, true);
  SearchBudget first_budget(50'000'000, 60), second_budget(50'000'000, 60);

  const std::optional<Allocation> first = allocate(problem, ScheduleKind::any, first_budget),
                                  second = allocate(problem, ScheduleKind::any, second_budget);

  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->search, SearchEnd::work_limit);
  EXPECT_EQ(first->value, second->value);
  EXPECT_EQ(first->bound, second->bound);
  EXPECT_EQ(first->schedule.size(), second->schedule.size());
  EXPECT_EQ(first_budget.operations_left(), second_budget.operations_left());
}

TEST(SearchBudget, LetsAsManyTasksRunAsCanWhereNotAllCan) {
  // Under fairness the least share is 0 whatever is done; then as few tasks as possible have it.
  const AllocationProblem problem = large_problem(100, {1, 16}, Objective::fairness, false);

  const std::optional<Allocation> found = allocate(problem, ScheduleKind::any);

  ASSERT_TRUE(found);
  EXPECT_EQ(found->value, 0);
  EXPECT_EQ(found->schedule.size(), 16U);
}

}  // namespace
}  // namespace multicard
