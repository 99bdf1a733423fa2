#include "scheduling/solve/PhaseSearch.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "scheduling/solve/PhaseOrder.hpp"
#include "scheduling/solve/PhaseProgram.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kFewestOperations = 8'000'000;  ///< some milliseconds
constexpr std::size_t kMostTasksForAllOrders = 4;

using Order = std::vector<std::size_t>;
using Choices = std::vector<std::vector<Choice>>;

double total_weight(const AllocationProblem& problem) {
  return std::accumulate(problem.tasks.begin(), problem.tasks.end(), 0.0,
                         [](double sum, const AllocationTask& task) { return sum + task.weight; });
}

/// What may be spent on phases; at least a little more than one exact table costs, but that tables of very large
/// machines are left to HullSplit.
std::int64_t most_operations(const Choices& choices, const Machine& machine, const SearchBudget& budget) {
  std::int64_t table = 0;
  for (const std::vector<Choice>& one : choices)
    for (const Choice& choice : one)
      table += machine.gpus() + 1 - choice.gpus;
  return std::max(kFewestOperations + std::min(table, 12 * kFewestOperations), budget.operations_left() / 2);
}

/// The order in which a smaller key comes first.
Order order_by(const std::vector<double>& keys) {
  Order order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  return order;
}

/// The fewest GPU-seconds in which a task can be done.
double area_of(const AllocationTask& task, const std::vector<Choice>& choices) {
  double area = std::numeric_limits<double>::infinity();
  for (const Choice& choice : choices)
    area = std::min(area, choice.gpus * (task.work / choice.rate));
  return area;
}

class CompletionOrders {
 public:
  CompletionOrders(const AllocationProblem& problem, const Choices& choices, SearchBudget& budget)
      : problem_(problem),
        choices_(choices),
        budget_(budget),
        left_(most_operations(choices, problem.machine, budget)) {
    for (std::size_t task = 0; task < choices.size(); ++task) {
      areas_.push_back(area_of(problem.tasks[task], choices[task]));
      shortest_.push_back(problem.tasks[task].work / problem.tasks[task].table.best(problem.machine).rate);
    }
  }

  PhasedResult run() {
    if (areas_.size() <= kMostTasksForAllOrders) return try_all();
    // Smith's rule with three lengths of a task: GPU-seconds, seconds on the machine, and those without weights.
    try_order(order_by(per_weight(areas_)));
    try_order(order_by(per_weight(shortest_)));
    try_order(order_by(shortest_));
    exchange_neighbours();
    best_.bound = std::max(alone_bound(), area_bound());
    return best_;
  }

 private:
  std::vector<double> per_weight(std::vector<double> keys) const {
    for (std::size_t task = 0; task < keys.size(); ++task)
      keys[task] /= problem_.tasks[task].weight;
    return keys;
  }

  /// Returns the lower bound for this order.
  double try_order(const Order& order) {
    const double total = total_weight(problem_);
    PhaseInput input{order, {}};
    double left = total;
    for (const std::size_t task : order) {
      // A second of a stage costs the weights of all tasks that have not ended. The last one's is its own weight, of
      // which repeated subtraction may leave less, or nothing.
      input.stage_costs.push_back(std::max(left, problem_.tasks[task].weight) / total);
      left -= problem_.tasks[task].weight;
    }
    PhaseOutput output = best_phases(problem_, choices_, input, left_, budget_);
    left_ -= std::max<std::int64_t>(output.num_operations, 1);
    order_phases(output.phases, output.stages);
    const double value = value_of(problem_, schedule_of(problem_, output.phases));
    if (value < smallest_) {
      smallest_ = value;
      best_.phases = std::move(output.phases);
      best_order_ = order;
    }
    return output.bound;
  }

  PhasedResult try_all() {
    Order order(areas_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    double bound = std::numeric_limits<double>::infinity();
    do {
      bound = std::min(bound, try_order(order));
    } while (std::next_permutation(order.begin(), order.end()));
    best_.bound = std::max({bound, alone_bound(), area_bound()});
    return best_;
  }

  // Until no exchange in the best order has helped for a whole round of neighbours.
  void exchange_neighbours() {
    for (std::size_t since = 0, at = 0; since + 1 < areas_.size(); ++since) {
      if (left_ <= 0 || budget_.is_spent()) return budget_.reach_limit();
      const double before = smallest_;
      Order order = best_order_;
      std::swap(order[at], order[at + 1]);
      try_order(order);
      if (smallest_ < before) since = 0;
      at = at + 2 < order.size() ? at + 1 : 0;
    }
  }

  double alone_bound() const {
    double sum = 0;
    for (std::size_t task = 0; task < shortest_.size(); ++task)
      sum += problem_.tasks[task].weight * shortest_[task];
    return sum / total_weight(problem_);
  }

  // Smith's rule on a single machine that does tasks one by one, each as efficiently as it is on its best number of
  // GPUs. No schedule can be better: GPU-seconds of a task are at least its area.
  double area_bound() const {
    double sum = 0, end = 0;
    for (const std::size_t task : order_by(per_weight(areas_))) {
      end += areas_[task] / problem_.machine.gpus();
      sum += problem_.tasks[task].weight * end;
    }
    return sum / total_weight(problem_);
  }

  const AllocationProblem& problem_;
  const Choices& choices_;
  SearchBudget& budget_;
  std::vector<double> areas_;     ///< GPU-seconds
  std::vector<double> shortest_;  ///< seconds on the whole machine
  PhasedResult best_;
  Order best_order_;
  double smallest_ = std::numeric_limits<double>::infinity();
  std::int64_t left_;
};

PhasedResult shortest_phases(const AllocationProblem& problem, const Choices& choices, SearchBudget& budget) {
  // In a single stage every task may run at any time, so that the order does not matter.
  PhaseInput input{Order(choices.size()), {1.0}};
  std::iota(input.order.begin(), input.order.end(), std::size_t{0});
  PhaseOutput output = best_phases(problem, choices, input, most_operations(choices, problem.machine, budget), budget);
  order_phases(output.phases, output.stages);
  double bound = output.bound, area = 0;
  for (std::size_t task = 0; task < choices.size(); ++task) {
    bound = std::max(bound, problem.tasks[task].work / problem.tasks[task].table.best(problem.machine).rate);
    area += area_of(problem.tasks[task], choices[task]);
  }
  return {std::move(output.phases), std::max(bound, area / problem.machine.gpus())};
}

}  // namespace

PhasedResult best_phased(const AllocationProblem& problem, SearchBudget& budget) {
  const Choices choices = useful_choices(problem);
  return problem.objective == Objective::makespan ? shortest_phases(problem, choices, budget)
                                                  : CompletionOrders(problem, choices, budget).run();
}

}  // namespace multicard
