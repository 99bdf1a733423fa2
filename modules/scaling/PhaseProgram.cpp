#include "scaling/PhaseProgram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "scaling/PlacedSplit.hpp"
#include "scaling/SumSplit.hpp"

namespace multicard {

namespace {

constexpr double kTolerance = 1e-11;  ///< of savings, relative

/// A split in a stage, by the positions of the tasks in the order of their ends.
struct Column {
  std::size_t stage = 0;
  Split split;
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

class Program {
 public:
  Program(const AllocationProblem& problem, const std::vector<std::vector<Choice>>& choices, const PhaseInput& input)
      : problem_(problem), input_(input), size_(input.order.size()), inverse_(size_) {
    for (std::size_t position = 0; position < size_; ++position) {
      const std::size_t task = input.order[position];
      choices_.push_back(choices[task]);
      works_.push_back(problem.tasks[task].work);
      const Choice best = *std::max_element(choices_.back().begin(), choices_.back().end(),
                                            [](const Choice& a, const Choice& b) { return a.rate < b.rate; });
      Column column{std::min(position, input.stage_costs.size() - 1), Split(size_)};
      column.split[position] = best;
      basis_.push_back(std::move(column));
      inverse_.at(position, position) = 1 / best.rate;
    }
    is_bound_ = is_bound_to_nodes(choices_);
    choices_with_none_ = choices_;
    for (std::vector<Choice>& one : choices_with_none_)
      one.insert(one.begin(), Choice{});
  }

  PhaseOutput run(std::int64_t most_operations) {
    const std::size_t most_steps = 100 + 40 * size_;
    for (std::size_t step = 0; step < most_steps && num_operations_ < most_operations; ++step)
      if (!improve()) break;
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
  bool improve() {
    const std::vector<double> y = prices();
    Column entering;
    const double ratio = price(y, entering);
    bound_ = std::max(bound_, std::inner_product(y.begin(), y.end(), works_.begin(), 0.0) / ratio);
    if (!(ratio > 1 + kTolerance)) return false;
    std::vector<double> rates;
    for (const Choice& choice : entering.split)
      rates.push_back(choice.rate);
    const std::vector<double> direction = inverse_.times(rates), seconds = inverse_.times(works_);
    std::size_t leaving = size_;
    double shortest = std::numeric_limits<double>::infinity();
    for (std::size_t row = 0; row < size_; ++row) {
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

  /// The column that saves most at prices y, and its worth divided by its cost.
  double price(const std::vector<double>& y, Column& entering) {
    return is_bound_ ? price_on_nodes(y, entering) : price_anywhere(y, entering);
  }

  double price_anywhere(const std::vector<double>& y, Column& entering) {
    std::vector<std::vector<Offer>> offers;
    for (std::size_t position = 0; position < size_; ++position) {
      offers.push_back({Offer{}});
      for (const Choice& choice : choices_[position])
        if (y[position] > 0) offers.back().push_back({choice.gpus, y[position] * choice.rate});
    }
    const int gpus = problem_.machine.gpus();
    num_operations_ += SumSplit::num_operations(offers, gpus);
    const SumSplit sums(std::move(offers), gpus);
    double largest = 0;
    for (std::size_t stage = 0; stage < input_.stage_costs.size(); ++stage) {
      const double ratio = sums.best(stage, gpus) / input_.stage_costs[stage];
      if (!(ratio > largest)) continue;
      largest = ratio;
      entering.stage = stage;
    }
    entering.split = Split(size_);
    const std::vector<std::size_t> indices = sums.chosen(entering.stage, gpus);
    for (std::size_t position = entering.stage; position < size_; ++position)
      entering.split[position] = choices_with_none_[position][indices[position]];
    return largest;
  }

  double price_on_nodes(const std::vector<double>& y, Column& entering) {
    double largest = 0;
    for (std::size_t stage = 0; stage < input_.stage_costs.size(); ++stage) {
      std::vector<std::vector<Choice>> choices(choices_with_none_);
      std::vector<std::vector<double>> costs;
      for (std::size_t position = 0; position < size_; ++position) {
        if (position < stage || !(y[position] > 0)) choices[position].resize(1);
        costs.emplace_back();
        for (const Choice& choice : choices[position])
          costs.back().push_back(-y[position] * choice.rate);
      }
      num_operations_ += static_cast<std::int64_t>(size_) * problem_.machine.gpus();
      const auto indices = PlacedSplit(choices, problem_.machine).smallest_sum(costs);
      double worth = 0;
      Split split(size_);
      for (std::size_t position = 0; indices && position < size_; ++position) {
        split[position] = choices[position][(*indices)[position]];
        worth -= costs[position][(*indices)[position]];
      }
      if (!(worth / input_.stage_costs[stage] > largest)) continue;
      largest = worth / input_.stage_costs[stage];
      entering = {stage, std::move(split)};
    }
    return largest;
  }

  PhaseOutput output() const {
    PhaseOutput output;
    output.bound = bound_;
    output.num_operations = num_operations_;
    const std::vector<double> seconds = inverse_.times(works_);
    for (std::size_t stage = 0; stage < input_.stage_costs.size(); ++stage)
      for (std::size_t i = 0; i < size_; ++i) {
        if (basis_[i].stage != stage || !(seconds[i] > 0)) continue;
        Phase phase{Split(size_), seconds[i]};
        for (std::size_t position = 0; position < size_; ++position)
          phase.split[input_.order[position]] = basis_[i].split[position];
        output.phases.push_back(std::move(phase));
        output.stages.push_back(stage);
      }
    return output;
  }

  const AllocationProblem& problem_;
  const PhaseInput& input_;
  std::size_t size_;
  bool is_bound_ = false;
  std::vector<std::vector<Choice>> choices_, choices_with_none_;  ///< by position; with {0, 0, 0} in front
  std::vector<double> works_;
  std::vector<Column> basis_;
  Inverse inverse_;
  double bound_ = 0;
  std::int64_t num_operations_ = 0;
};

}  // namespace

PhaseOutput best_phases(const AllocationProblem& problem, const std::vector<std::vector<Choice>>& choices,
                        const PhaseInput& input, std::int64_t most_operations) {
  return Program(problem, choices, input).run(most_operations);
}

}  // namespace multicard
