#include "scheduling/solve/LexicographicSplit.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace multicard {

namespace {

constexpr int kMostCalls = 20'000;
constexpr std::int64_t kOperationsPerTask = 20;  ///< of a call

using Indices = std::vector<std::size_t>;

// Limits are ranks of costs among all costs: whole numbers, so that a bisection over them ends, and is exact.
class Levels {
 public:
  Levels(const CostRanks& ranks, const std::vector<int>& kinds, const Fitting& fitting, const FewestGpus& fewest,
         SearchBudget& budget)
      : ranks_(ranks),
        kinds_(kinds),
        fitting_(fitting),
        fewest_(fewest),
        budget_(budget),
        reserve_(budget.operations_left() / 2) {
    for (const std::vector<int>& task : ranks)
      highest_ = std::max(highest_, task.empty() ? 0 : *std::max_element(task.begin(), task.end()));
  }

  std::optional<Indices> run() {
    State start{std::vector<int>(ranks_.size(), highest_), std::vector<char>(ranks_.size(), 0), {}};
    if (!fits(start)) return std::nullopt;
    const State settled = settle(std::move(start));
    std::optional<Indices> found = fitting_(settled.limits);
    return found ? found : settled.indices;  // the search for it a second time may be cut short
  }

 private:
  struct State {
    std::vector<int> limits;
    std::vector<char> is_settled;
    Indices indices;  ///< of choices within the limits
  };

  /// Whether something fits within the state's limits, which it then knows.
  bool fits(State& state) {
    ++calls_;
    if (!budget_.take(static_cast<std::int64_t>(ranks_.size()) * kOperationsPerTask)) return false;
    std::optional<Indices> found = fitting_(state.limits);
    if (!found) return false;
    state.indices = std::move(*found);
    return true;
  }

  /// Whether sets of tasks may still be compared: half of the budget is for what comes after.
  bool may_compare() const { return calls_ < kMostCalls && budget_.operations_left() >= reserve_; }

  static std::vector<int> limited(const State& state, int limit) {
    std::vector<int> limits = state.limits;
    for (std::size_t task = 0; task < limits.size(); ++task)
      if (!state.is_settled[task]) limits[task] = std::min(limits[task], limit);
    return limits;
  }

  /// Lowers the limits of the tasks that are not settled to the smallest that fits, which is returned.
  int lower_limits(State& state) {
    int low = 0, high = 0;
    for (std::size_t task = 0; task < ranks_.size(); ++task)
      if (!state.is_settled[task]) high = std::max(high, state.limits[task]);
    while (low < high) {
      const int middle = low + (high - low) / 2;
      State lower{limited(state, middle), state.is_settled, {}};
      if (fits(lower)) {
        high = middle;
        state = std::move(lower);
      } else {
        low = middle + 1;
      }
    }
    return high;
  }

  /// The state in which every task is settled.
  State settle(State state) {
    while (std::find(state.is_settled.begin(), state.is_settled.end(), 0) != state.is_settled.end()) {
      const int limit = lower_limits(state);
      std::vector<State> next = smallest_sets(state, limit);
      // Which tasks stay at the limit decides what is left to the others: each of the smallest sets is followed to its
      // end.
      if (next.size() > 1 && may_compare()) return best_of(next);
      state = std::move(next.front());
    }
    return state;
  }

  State best_of(const std::vector<State>& states) {
    State best;
    std::vector<int> best_sorted;
    for (const State& state : states) {
      if (!best.limits.empty() && budget_.is_spent()) break;
      State settled = settle(state);
      std::vector<int> sorted = settled.limits;
      std::sort(sorted.rbegin(), sorted.rend());
      if (!best.limits.empty() && !(sorted < best_sorted)) continue;
      best = std::move(settled);
      best_sorted = std::move(sorted);
    }
    return best;
  }

  /// The tasks that may stay at `limit`, equal ones together.
  std::vector<std::vector<std::size_t>> candidates(const State& state, int limit) const {
    std::map<int, std::vector<std::size_t>> groups;
    for (std::size_t task = 0; task < ranks_.size(); ++task) {
      const std::vector<int>& own = ranks_[task];
      if (!state.is_settled[task] && std::find(own.begin(), own.end(), limit) != own.end())
        groups[kinds_[task]].push_back(task);
    }
    std::vector<std::vector<std::size_t>> lists;
    lists.reserve(groups.size());
    for (auto& [kind, tasks] : groups)
      lists.push_back(std::move(tasks));
    return lists;
  }

  /// What follows from each of the smallest sets of tasks that can stay at `limit`, all other ones going below it. A
  /// bisection that was cut short may end at a limit at which no task can stay.
  std::vector<State> smallest_sets(const State& state, int limit) {
    const std::vector<std::vector<std::size_t>> groups = candidates(state, limit);
    if (groups.empty()) return {State{limited(state, limit - 1), state.is_settled, state.indices}};
    std::size_t most = 0;
    for (const std::vector<std::size_t>& group : groups)
      most += group.size();
    std::vector<State> found;
    for (std::size_t size = 1; size < most && found.empty() && may_compare(); ++size)
      add_sets(groups, 0, size, state, limit, found);
    if (!found.empty()) return found;
    if (most > 1 && !may_compare()) budget_.reach_limit();
    found.push_back(may_compare() ? state : with_fewer_at(limit, state, groups));
    for (const std::vector<std::size_t>& group : groups)
      for (const std::size_t task : group)
        if (found.back().limits[task] >= limit) found.back().is_settled[task] = 1;
    return found;
  }

  /// As many of the tasks below `limit` as fit, one by one.
  State with_fewer_at(int limit, State state, const std::vector<std::vector<std::size_t>>& groups) {
    std::vector<std::pair<int, std::size_t>> by_need;
    for (const std::vector<std::size_t>& group : groups)
      for (const std::size_t task : group)
        by_need.emplace_back(fewest_(task, limit - 1) - fewest_(task, limit), task);
    std::sort(by_need.begin(), by_need.end());
    for (std::size_t i = 0; i + 1 < by_need.size(); ++i) {
      State lower = state;
      lower.limits[by_need[i].second] = limit - 1;
      if (fits(lower)) state = std::move(lower);
    }
    return state;
  }

  /// Sets of `size` tasks of the groups from `group` on; of equal tasks the last ones stay.
  void add_sets(const std::vector<std::vector<std::size_t>>& groups, std::size_t group, std::size_t size,
                const State& state, int limit, std::vector<State>& found) {
    if (size == 0 || group == groups.size()) {
      if (size > 0 || !may_compare()) return;
      State next{limited(state, limit - 1), state.is_settled, {}};
      if (fits(next)) found.push_back(std::move(next));
      return;
    }
    const std::vector<std::size_t>& tasks = groups[group];
    State next = state;
    for (std::size_t count = 0; count <= std::min(size, tasks.size()); ++count) {
      if (count > 0) next.is_settled[tasks[tasks.size() - count]] = 1;
      add_sets(groups, group + 1, size - count, next, limit, found);
    }
  }

  const CostRanks& ranks_;
  const std::vector<int>& kinds_;
  const Fitting& fitting_;
  const FewestGpus& fewest_;
  SearchBudget& budget_;
  std::int64_t reserve_;
  int highest_ = 0;
  int calls_ = 0;
};

}  // namespace

CostRanks ranks_of(const std::vector<std::vector<double>>& costs) {
  std::vector<double> values;
  for (const std::vector<double>& task : costs)
    values.insert(values.end(), task.begin(), task.end());
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  CostRanks ranks;
  for (const std::vector<double>& task : costs) {
    ranks.emplace_back();
    for (const double cost : task)
      ranks.back().push_back(static_cast<int>(std::lower_bound(values.begin(), values.end(), cost) - values.begin()));
  }
  return ranks;
}

std::optional<std::vector<std::size_t>> lexicographic_split(const CostRanks& ranks, const std::vector<int>& kinds,
                                                            const Fitting& fitting, const FewestGpus& fewest,
                                                            SearchBudget& budget) {
  return Levels(ranks, kinds, fitting, fewest, budget).run();
}

}  // namespace multicard
