#include "scheduling/solve/PlacedSplit.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "scheduling/solve/NodePlacement.hpp"
#include "scheduling/solve/SumSplit.hpp"

namespace multicard {

namespace {

constexpr int kMostSteps = 200'000;
constexpr std::int64_t kOperationsPerStep = 50;
constexpr std::int64_t kOperationsPerChoice = 4;  ///< to say which are allowed

/// Branch and bound over the tasks in their order; the bound is exact but for the nodes.
class SmallestSum {
 public:
  SmallestSum(const std::vector<std::vector<Choice>>& choices, const std::vector<std::vector<double>>& costs,
              const Machine& machine, SearchBudget& budget)
      : choices_(choices),
        costs_(costs),
        machine_(machine),
        bound_(offers(), machine.gpus()),
        chosen_(choices.size()),
        budget_(budget) {
    for (std::size_t task = 0; task < choices.size(); ++task) {
      order_.emplace_back(choices[task].size());
      std::iota(order_.back().begin(), order_.back().end(), std::size_t{0});
    }
  }

  PlacedSum run() {
    search(0, machine_.gpus(), 0);
    if (!is_exact_) budget_.reach_limit();
    // Where the search was cut short, only the sum without regard to nodes is sure.
    return {best_, is_exact_ ? smallest_ : -bound_.best(0, machine_.gpus())};
  }

 private:
  /// The cheapest choice of each number of GPUs.
  std::vector<std::vector<Offer>> offers() const {
    std::vector<std::vector<Offer>> all;
    for (std::size_t task = 0; task < choices_.size(); ++task) {
      std::vector<Offer> offers;
      for (std::size_t i = 0; i < choices_[task].size(); ++i) {
        const int gpus = choices_[task][i].gpus;
        if (offers.empty() || offers.back().gpus != gpus) offers.push_back({gpus, -costs_[task][i]});
        offers.back().value = std::max(offers.back().value, -costs_[task][i]);
      }
      all.push_back(std::move(offers));
    }
    return all;
  }

  /// What the whole would cost at least if `task` took choice i.
  double promise(std::size_t task, std::size_t i, int gpus, double cost) const {
    const int left = gpus - choices_[task][i].gpus;
    return left < 0 ? std::numeric_limits<double>::infinity() : cost + costs_[task][i] - bound_.best(task + 1, left);
  }

  /// Of a step: the choices are sorted.
  std::int64_t operations_of(std::size_t task) const {
    constexpr std::size_t kPerStep = 50, kPerChoice = 40;
    return static_cast<std::int64_t>(kPerStep + (task < choices_.size() ? kPerChoice * choices_[task].size() : 0));
  }

  void search(std::size_t task, int gpus, double cost) {
    if (++steps_ > kMostSteps || !budget_.take(operations_of(task))) {
      is_exact_ = false;
      return;
    }
    if (task == choices_.size()) {
      Split split;
      for (std::size_t i = 0; i < chosen_.size(); ++i)
        split.push_back(choices_[i][chosen_[i]]);
      const Placeable placeable = can_place(split, machine_, budget_);
      // It may have been possible, and better than what is found.
      is_exact_ = is_exact_ && placeable != Placeable::unknown;
      if (placeable != Placeable::yes) return;
      best_ = chosen_;
      smallest_ = cost;
      return;
    }
    std::vector<std::size_t> order = order_[task];
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return promise(task, a, gpus, cost) < promise(task, b, gpus, cost);
    });
    for (const std::size_t i : order) {
      // Sorted by what they promise: the later ones cannot be better either.
      if (!(promise(task, i, gpus, cost) < smallest_)) return;
      chosen_[task] = i;
      search(task + 1, gpus - choices_[task][i].gpus, cost + costs_[task][i]);
    }
  }

  const std::vector<std::vector<Choice>>& choices_;
  const std::vector<std::vector<double>>& costs_;
  const Machine& machine_;
  SumSplit bound_;
  std::vector<std::vector<std::size_t>> order_;
  std::vector<std::size_t> chosen_;
  std::optional<std::vector<std::size_t>> best_;
  double smallest_ = std::numeric_limits<double>::infinity();
  SearchBudget& budget_;
  int steps_ = 0;
  bool is_exact_ = true;
};

}  // namespace

PlacedSplit::PlacedSplit(std::vector<std::vector<Choice>> choices, const Machine& machine, SearchBudget& budget)
    : choices_(std::move(choices)),
      machine_(machine),
      fewest_after_(choices_.size(), 0),
      chosen_(choices_.size(), 0),
      budget_(budget) {}

PlacedSum PlacedSplit::smallest_sum(const std::vector<std::vector<double>>& costs) {
  return SmallestSum(choices_, costs, machine_, budget_).run();
}

std::optional<std::vector<std::size_t>> PlacedSplit::any_of(const std::vector<std::vector<std::size_t>>& allowed) {
  int fewest = 0;
  std::int64_t num_choices = 0;
  for (const std::vector<std::size_t>& of_task : allowed)
    num_choices += static_cast<std::int64_t>(of_task.size());
  budget_.take(num_choices * kOperationsPerChoice);
  for (std::size_t task = allowed.size(); task-- > 0;) {
    fewest_after_[task] = fewest;
    if (allowed[task].empty()) return std::nullopt;
    fewest += choices_[task][allowed[task].front()].gpus;
  }
  steps_ = 0;
  const bool is_found = search_any(allowed, 0, machine_.gpus());
  if (steps_ > kMostSteps) budget_.reach_limit();
  if (!is_found) return std::nullopt;
  return chosen_;
}

bool PlacedSplit::is_placeable(const std::vector<std::size_t>& indices) {
  Split split;
  for (std::size_t task = 0; task < indices.size(); ++task)
    split.push_back(choices_[task][indices[task]]);
  const Placeable placeable = can_place(split, machine_, budget_);
  if (placeable == Placeable::unknown) budget_.reach_limit();
  return placeable == Placeable::yes;
}

bool PlacedSplit::search_any(const std::vector<std::vector<std::size_t>>& allowed, std::size_t task, int gpus) {
  if (++steps_ > kMostSteps || !budget_.take(kOperationsPerStep)) return false;
  if (task == allowed.size()) return is_placeable(chosen_);
  std::vector<int> tried;  // with fewer GPUs on as many nodes it would fit as well
  for (const std::size_t i : allowed[task]) {
    const Choice& choice = choices_[task][i];
    if (choice.gpus + fewest_after_[task] > gpus) break;
    if (std::find(tried.begin(), tried.end(), choice.nodes) != tried.end()) continue;
    tried.push_back(choice.nodes);
    chosen_[task] = i;
    if (search_any(allowed, task + 1, gpus - choice.gpus)) return true;
    if (choice.nodes == 0) break;  // and what fits on some nodes would fit on any
  }
  return false;
}

}  // namespace multicard
