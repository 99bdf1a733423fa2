#include "scheduling/solve/PhaseProgram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "scheduling/solve/HullSplit.hpp"
#include "scheduling/solve/PlacedSplit.hpp"
#include "scheduling/solve/SumSplit.hpp"

namespace multicard {

namespace {

constexpr double kTolerance = 1e-11;               ///< of savings, relative
constexpr std::int64_t kOperationsPerChoice = 10;  ///< of a task at one stage: copied, with a cost
constexpr std::int64_t kSmallTable = 200'000;      ///< additions for which SumSplit is as fast as HullSplit

/// A split in a stage, by the positions of the tasks in the order of their ends.
struct Column {
  std::size_t stage = 0;
  Split split;
};

/// A column, what it is worth at the prices, and a limit of what any is worth, both divided by the cost of the stage.
struct Priced {
  Column column;
  double ratio = 0, bound = 0;
};

/// The inverse of the basis matrix, row by row.
class Inverse {
 public:
  explicit Inverse(std::size_t size) : size_(size), values_(size * size, 0.0) {}

  double& at(std::size_t row, std::size_t column) { return values_[row * size_ + column]; }

  std::vector<double> times(const std::vector<double>& vector) const {
    std::vector<double> result(size_, 0.0);
    for (std::size_t row = 0; row < size_; ++row)
      result[row] = std::inner_product(vector.begin(), vector.end(), &values_[row * size_], 0.0);
    return result;
  }

  std::vector<double> from_left(const std::vector<double>& vector) const {
    std::vector<double> result(size_, 0.0);
    for (std::size_t row = 0; row < size_; ++row)
      for (std::size_t column = 0; column < size_; ++column)
        result[column] += vector[row] * values_[row * size_ + column];
    return result;
  }

  /// The column whose product with the inverse is `direction` takes the place of basis column `row`.
  void replace(std::size_t row, const std::vector<double>& direction) {
    for (std::size_t column = 0; column < size_; ++column)
      at(row, column) /= direction[row];
    for (std::size_t other = 0; other < size_; ++other)
      for (std::size_t column = 0; other != row && column < size_; ++column)
        at(other, column) -= direction[other] * at(row, column);
  }

 private:
  std::size_t size_;
  std::vector<double> values_;
};

std::vector<std::vector<Choice>> by_position(const std::vector<std::vector<Choice>>& choices,
                                             const std::vector<std::size_t>& order) {
  std::vector<std::vector<Choice>> sorted;
  sorted.reserve(order.size());
  for (const std::size_t task : order)
    sorted.push_back(choices[task]);
  return sorted;
}

class Program {
 public:
  Program(const AllocationProblem& problem, const std::vector<std::vector<Choice>>& choices, const PhaseInput& input,
          SearchBudget& budget)
      : problem_(problem),
        input_(input),
        budget_(budget),
        size_(input.order.size()),
        choices_(by_position(choices, input.order)),
        hulls_(choices_),
        inverse_(size_) {
    for (std::size_t position = 0; position < size_; ++position) {
      const std::size_t task = input.order[position];
      // The basis to start from: each task alone, in its own stage, on the GPUs that are fastest for it. Its matrix is
      // diagonal.
      works_.push_back(problem.tasks[task].work);
      const Choice best = *std::max_element(choices_[position].begin(), choices_[position].end(),
                                            [](const Choice& a, const Choice& b) { return a.rate < b.rate; });
      Column column{std::min(position, input.stage_costs.size() - 1), Split(size_)};
      column.split[position] = best;
      basis_.push_back(std::move(column));
      inverse_.at(position, position) = 1 / best.rate;
    }
    is_bound_ = is_bound_to_nodes(choices_);
    table_operations_ = SumSplit::num_operations(offers_at(std::vector<double>(size_, 1.0)), problem.machine.gpus());
    choices_with_none_ = choices_;
    for (std::vector<Choice>& one : choices_with_none_) {
      one.insert(one.begin(), Choice{});
      num_choices_ += static_cast<std::int64_t>(one.size());
    }
  }

  PhaseOutput run(std::int64_t most_operations) {
    const std::size_t most_steps = 100 + 40 * size_;
    for (std::size_t step = 0; step < most_steps && num_operations_ < most_operations; ++step) {
      const std::int64_t before = num_operations_;
      const bool has_improved = improve(most_operations);
      if (!budget_.take(num_operations_ - before) || !has_improved) return output();
    }
    budget_.reach_limit();
    return output();
  }

 private:
  double cost(const Column& column) const { return input_.stage_costs[column.stage]; }

  std::vector<double> prices() const {
    std::vector<double> costs;
    for (const Column& column : basis_)
      costs.push_back(cost(column));
    return inverse_.from_left(costs);
  }

  /// One step of the simplex method; false when there is nothing to gain.
  bool improve(std::int64_t most_operations) {
    const std::vector<double> y = prices();
    const std::int64_t overhead = static_cast<std::int64_t>(size_ * (size_ + input_.stage_costs.size())) * 4;
    num_operations_ += overhead;
    Priced priced;
    if (is_bound_) {
      priced = price_on_nodes(y);
    } else {
      const bool is_small = table_operations_ <= kSmallTable;
      if (!is_small) priced = price_by_hulls(y);
      // Open: the hulls have found no split that saves anything, and their bound does not rule one out.
      const bool is_open = !(priced.ratio > 1 + kTolerance) && !(priced.bound > 0 && priced.bound <= 1 + kTolerance);
      if (is_small || (is_open && num_operations_ + table_operations_ <= most_operations)) priced = price_exactly(y);
    }
    if (priced.bound > 0)
      bound_ = std::max(bound_, std::inner_product(y.begin(), y.end(), works_.begin(), 0.0) / priced.bound);
    return priced.ratio > 1 + kTolerance && enter(std::move(priced.column));
  }

  bool enter(Column entering) {
    std::vector<double> rates;
    rates.reserve(size_);
    for (const Choice& choice : entering.split)
      rates.push_back(choice.rate);
    const std::vector<double> direction = inverse_.times(rates), seconds = inverse_.times(works_);
    std::size_t leaving = size_;
    double shortest = std::numeric_limits<double>::infinity();
    for (std::size_t row = 0; row < size_; ++row) {
      // The ratio test: the first basis column whose time falls to 0 leaves, so that no time becomes negative.
      if (direction[row] <= kTolerance) continue;
      const double time = std::max(seconds[row], 0.0) / direction[row];
      if (time < shortest) {
        shortest = time;
        leaving = row;
      }
    }
    if (leaving == size_) return false;
    inverse_.replace(leaving, direction);
    basis_[leaving] = std::move(entering);
    return true;
  }

  std::vector<std::vector<Offer>> offers_at(const std::vector<double>& y) const {
    std::vector<std::vector<Offer>> offers;
    for (std::size_t position = 0; position < size_; ++position) {
      offers.push_back({Offer{}});
      for (const Choice& choice : choices_[position])
        if (y[position] > 0) offers.back().push_back({choice.gpus, y[position] * choice.rate});
    }
    return offers;
  }

  Priced price_exactly(const std::vector<double>& y) {
    const int gpus = problem_.machine.gpus();
    num_operations_ += table_operations_;
    const SumSplit sums(offers_at(y), gpus);
    Priced priced;
    for (std::size_t stage = 0; stage < input_.stage_costs.size(); ++stage) {
      const double ratio = sums.best(stage, gpus) / input_.stage_costs[stage];
      if (!(ratio > priced.ratio)) continue;
      priced.ratio = ratio;
      priced.column.stage = stage;
    }
    priced.bound = priced.ratio;
    priced.column.split = Split(size_);
    const std::vector<std::size_t> indices = sums.chosen(priced.column.stage, gpus);
    for (std::size_t position = priced.column.stage; position < size_; ++position)
      priced.column.split[position] = choices_with_none_[position][indices[position]];
    return priced;
  }

  Priced price_by_hulls(const std::vector<double>& y) {
    const int gpus = problem_.machine.gpus();
    hulls_.set_prices(y);
    num_operations_ += static_cast<std::int64_t>(hulls_.num_steps() * (40 + 2 * input_.stage_costs.size()));
    Priced priced;
    HullSplit::Found best;
    for (std::size_t stage = 0; stage < input_.stage_costs.size(); ++stage) {
      HullSplit::Found found = hulls_.best(stage, gpus);
      priced.bound = std::max(priced.bound, found.bound / input_.stage_costs[stage]);
      if (!(found.worth / input_.stage_costs[stage] > priced.ratio)) continue;
      priced.ratio = found.worth / input_.stage_costs[stage];
      priced.column.stage = stage;
      best = std::move(found);
    }
    hulls_.use_rest(priced.column.stage, gpus, best);
    priced.ratio = best.worth / input_.stage_costs[priced.column.stage];
    priced.column.split = std::move(best.split);
    return priced;
  }

  Priced price_on_nodes(const std::vector<double>& y) {
    Priced priced;
    for (std::size_t stage = 0; stage < input_.stage_costs.size(); ++stage) {
      if (!budget_.take(num_choices_ * kOperationsPerChoice)) {
        priced.bound = std::numeric_limits<double>::infinity();  // what later stages could be worth is not known
        break;
      }
      std::vector<std::vector<Choice>> choices(choices_with_none_);
      std::vector<std::vector<double>> costs;
      for (std::size_t position = 0; position < size_; ++position) {
        if (position < stage || !(y[position] > 0)) choices[position].resize(1);
        costs.emplace_back();
        for (const Choice& choice : choices[position])
          costs.back().push_back(-y[position] * choice.rate);
      }
      num_operations_ += static_cast<std::int64_t>(size_) * problem_.machine.gpus();
      const PlacedSum found = PlacedSplit(choices, problem_.machine, budget_).smallest_sum(costs);
      double worth = 0;
      Split split(size_);
      for (std::size_t position = 0; found.indices && position < size_; ++position) {
        split[position] = choices[position][(*found.indices)[position]];
        worth -= costs[position][(*found.indices)[position]];
      }
      priced.bound = std::max(priced.bound, -found.bound / input_.stage_costs[stage]);
      if (!(worth / input_.stage_costs[stage] > priced.ratio)) continue;
      priced.ratio = worth / input_.stage_costs[stage];
      priced.column = {stage, std::move(split)};
    }
    return priced;
  }

  PhaseOutput output() const {
    PhaseOutput output;
    output.bound = bound_;
    output.num_operations = num_operations_;
    const std::vector<double> seconds = inverse_.times(works_);
    for (std::size_t stage = 0; stage < input_.stage_costs.size(); ++stage)
      for (std::size_t i = 0; i < size_; ++i) {
        if (basis_[i].stage != stage || !(seconds[i] > 0)) continue;
        SplitPhase phase{Split(size_), seconds[i]};
        for (std::size_t position = 0; position < size_; ++position)
          phase.split[input_.order[position]] = basis_[i].split[position];
        output.phases.push_back(std::move(phase));
        output.stages.push_back(stage);
      }
    return output;
  }

  const AllocationProblem& problem_;
  const PhaseInput& input_;
  SearchBudget& budget_;
  std::size_t size_;
  bool is_bound_ = false;
  std::int64_t num_choices_ = 0;
  std::int64_t table_operations_ = 0;                             ///< of one SumSplit of all tasks
  std::vector<std::vector<Choice>> choices_, choices_with_none_;  ///< by position; with {0, 0, 0} in front
  HullSplit hulls_;
  std::vector<double> works_;
  std::vector<Column> basis_;
  Inverse inverse_;
  double bound_ = 0;
  std::int64_t num_operations_ = 0;
};

}  // namespace

PhaseOutput best_phases(const AllocationProblem& problem, const std::vector<std::vector<Choice>>& choices,
                        const PhaseInput& input, std::int64_t most_operations, SearchBudget& budget) {
  return Program(problem, choices, input, budget).run(most_operations);
}

}  // namespace multicard
