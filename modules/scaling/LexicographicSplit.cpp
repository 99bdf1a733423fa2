#include "scaling/LexicographicSplit.hpp"

#include <algorithm>
#include <map>

namespace multicard {

namespace {

constexpr int kMostCalls = 20'000;

class Levels {
 public:
  Levels(const CostRanks& ranks, const std::vector<int>& kinds, const Fitting& fitting)
      : ranks_(ranks), kinds_(kinds), fitting_(fitting) {
    for (const std::vector<int>& task : ranks)
      highest_ = std::max(highest_, task.empty() ? 0 : *std::max_element(task.begin(), task.end()));
  }

  std::optional<std::vector<std::size_t>> run() {
    const State start{std::vector<int>(ranks_.size(), highest_), std::vector<char>(ranks_.size(), 0)};
    if (!fits(start.limits)) return std::nullopt;
    return fitting_(settle(start));
  }

 private:
  struct State {
    std::vector<int> limits;
    std::vector<char> is_settled;
  };

  bool fits(const std::vector<int>& limits) {
    ++calls_;
    return fitting_(limits).has_value();
  }

  static std::vector<int> limited(const State& state, int limit) {
    std::vector<int> limits = state.limits;
    for (std::size_t task = 0; task < limits.size(); ++task)
      if (!state.is_settled[task]) limits[task] = std::min(limits[task], limit);
    return limits;
  }

  int smallest_limit(const State& state) {
    int low = 0, high = 0;
    for (std::size_t task = 0; task < ranks_.size(); ++task)
      if (!state.is_settled[task]) high = std::max(high, state.limits[task]);
    while (low < high) {
      const int middle = low + (high - low) / 2;
      if (fits(limited(state, middle)))
        high = middle;
      else
        low = middle + 1;
    }
    return high;
  }

  /// The limits of all tasks when every one is settled.
  std::vector<int> settle(State state) {
    while (std::find(state.is_settled.begin(), state.is_settled.end(), 0) != state.is_settled.end()) {
      const int limit = smallest_limit(state);
      state.limits = limited(state, limit);
      const std::vector<State> next = smallest_sets(state, limit);
      if (next.size() > 1 && calls_ < kMostCalls) return best_of(next);
      state = next.front();
    }
    return state.limits;
  }

  std::vector<int> best_of(const std::vector<State>& states) {
    std::vector<int> best, best_sorted;
    for (const State& state : states) {
      const std::vector<int> limits = settle(state);
      std::vector<int> sorted = limits;
      std::sort(sorted.rbegin(), sorted.rend());
      if (!best.empty() && !(sorted < best_sorted)) continue;
      best = limits;
      best_sorted = sorted;
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

  /// What follows from each of the smallest sets of tasks that can stay at `limit`, all other ones going below it.
  std::vector<State> smallest_sets(const State& state, int limit) {
    const std::vector<std::vector<std::size_t>> groups = candidates(state, limit);
    std::size_t most = 0;
    for (const std::vector<std::size_t>& group : groups)
      most += group.size();
    std::vector<State> found;
    for (std::size_t size = 1; size < most && found.empty() && calls_ < kMostCalls; ++size)
      add_sets(groups, 0, size, state, limit, found);
    if (found.empty()) {  // all of them
      State all = state;
      for (const std::vector<std::size_t>& group : groups)
        for (const std::size_t task : group)
          all.is_settled[task] = 1;
      found.push_back(std::move(all));
    }
    return found;
  }

  /// Sets of `size` tasks of the groups from `group` on; of equal tasks the last ones stay.
  void add_sets(const std::vector<std::vector<std::size_t>>& groups, std::size_t group, std::size_t size,
                const State& state, int limit, std::vector<State>& found) {
    if (size == 0 || group == groups.size()) {
      if (size > 0 || calls_ >= kMostCalls) return;
      State next = state;
      next.limits = limited(state, limit - 1);
      if (fits(next.limits)) found.push_back(std::move(next));
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
                                                            const Fitting& fitting) {
  return Levels(ranks, kinds, fitting).run();
}

}  // namespace multicard
