#include "scheduling/solve/Allocation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduling/solve/PhaseSearch.hpp"
#include "scheduling/solve/StaticSplit.hpp"

namespace multicard {

namespace {

constexpr double kEquallyGood = 1e-12;

class Candidates {
 public:
  explicit Candidates(const AllocationProblem& problem) : problem_(problem) {}

  void add(TaskSchedule schedule) {
    const double value = value_of(problem_, schedule);
    if (best_ && !(value < best_->value * (1 - kEquallyGood))) return;
    best_ = Allocation{std::move(schedule), value, 0, {}, {}, {}};
  }

  std::optional<Allocation> take() { return std::move(best_); }

 private:
  const AllocationProblem& problem_;
  std::optional<Allocation> best_;
};

bool can_all_run(const AllocationProblem& problem) {
  return std::all_of(problem.tasks.begin(), problem.tasks.end(), [&](const AllocationTask& task) {
    return task.work > 0 && task.table.best(problem.machine).gpus > 0;
  });
}

/// One after another, the smallest w_j / T_j last, which is best for the average completion.
TaskSchedule sequence(const AllocationProblem& problem) {
  std::vector<std::size_t> order;
  for (std::size_t task = 0; task < problem.tasks.size(); ++task)
    order.push_back(task);
  const auto key = [&](std::size_t task) {
    const AllocationTask& one = problem.tasks[task];
    return one.work / one.table.best(problem.machine).rate / one.weight;
  };
  if (problem.objective == Objective::average_completion)
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return schedule_of(problem, *one_after_another(problem, order));
}

std::optional<Allocation> allocate_in_time(const AllocationProblem& problem, const std::optional<Split>& split,
                                           const std::optional<Split>& equal, SearchBudget& budget) {
  if (!can_all_run(problem)) return std::nullopt;
  // The simpler a candidate is, the earlier it comes: of equally good ones the first stays, with the fewest changes of
  // GPUs.
  Candidates candidates(problem);
  if (split) candidates.add(schedule_of(problem, *split));
  if (equal) candidates.add(schedule_of(problem, *equal));
  candidates.add(sequence(problem));
  const PhasedResult phased = best_phased(problem, budget);
  candidates.add(schedule_of(problem, phased.phases));
  std::optional<Allocation> best = candidates.take();
  best->bound = std::min(phased.bound, best->value);  // which rounding may have exchanged
  return best;
}

/// The first unless the second is better, which it can only be where the search for placements was cut short.
std::optional<Split> better_of(const AllocationProblem& problem, const std::optional<Split>& split,
                               const std::optional<Split>& equal) {
  if (!split || !equal) return split ? split : equal;
  return is_better(problem.objective, value_of(problem, *equal), value_of(problem, *split)) ? equal : split;
}

}  // namespace

double Allocation::gap() const {
  const double larger = std::max(std::abs(value), std::abs(bound));
  return larger > 0 ? std::abs(value - bound) / larger : 0;
}

std::optional<Allocation> allocate(const AllocationProblem& problem, ScheduleKind kind, SearchBudget& budget) {
  const std::optional<Split> split = best_static_split(problem, budget), equal = equal_split(problem, budget);
  std::optional<Allocation> best;
  if (kind == ScheduleKind::any && is_about_time(problem.objective)) {
    best = allocate_in_time(problem, split, equal, budget);
  } else if (const std::optional<Split> better = better_of(problem, split, equal)) {
    const double value = value_of(problem, *better);
    best = Allocation{schedule_of(problem, *better), value, value, {}, {}, {}};
    if (budget.end() != SearchEnd::complete) {
      const double bound = static_bound(problem);
      if (is_better(problem.objective, bound, value)) best->bound = bound;
    }
  }
  if (!best) return std::nullopt;
  if (equal) best->equal = value_of(problem, *equal);
  best->sequential = sequential_value(problem);
  best->search = budget.end();
  return best;
}

std::optional<Allocation> allocate(const AllocationProblem& problem, ScheduleKind kind) {
  SearchBudget budget;
  return allocate(problem, kind, budget);
}

}  // namespace multicard
