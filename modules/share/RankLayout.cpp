#include "share/RankLayout.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace multicard {

namespace {

/// The first rank of `count` free ones that starts nearest to `wanted`.
std::optional<int> nearest_gap(const std::vector<bool>& taken, int count, int wanted) {
  std::optional<int> best;
  const int num_ranks = static_cast<int>(taken.size());
  for (int first = 0; first + count <= num_ranks; ++first) {
    const auto begin = taken.begin() + first;
    if (std::find(begin, begin + count, true) != begin + count) continue;
    if (!best || std::abs(first - wanted) < std::abs(*best - wanted)) best = first;
  }
  return best;
}

void take(std::vector<bool>& taken, const RankRange& range) {
  std::fill_n(taken.begin() + range.first, range.count, true);
}

/// One after another, in the order in which they were.
std::vector<RankRange> closed_up(const std::vector<int>& counts, const std::vector<RankRange>& before) {
  std::vector<std::size_t> order(counts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool ran_a = before[a].count > 0, ran_b = before[b].count > 0;
    if (ran_a != ran_b) return ran_a;
    return ran_a && before[a].first < before[b].first;
  });
  std::vector<RankRange> ranges(counts.size());
  int next = 0;
  for (const std::size_t task : order) {
    if (counts[task] == 0) continue;
    ranges[task] = {next, counts[task]};
    next += counts[task];
  }
  return ranges;
}

}  // namespace

std::vector<RankRange> lay_out(const std::vector<int>& counts, const std::vector<RankRange>& before, int num_ranks) {
  if (std::accumulate(counts.begin(), counts.end(), 0) > num_ranks)
    throw std::logic_error("more ranks are given to tasks than there are");
  std::vector<RankRange> ranges(counts.size());
  std::vector<bool> taken(static_cast<std::size_t>(num_ranks));
  std::vector<std::size_t> open;
  for (std::size_t task = 0; task < counts.size(); ++task) {
    if (counts[task] == 0) continue;
    if (before[task].count == counts[task]) {
      ranges[task] = before[task];
      take(taken, ranges[task]);
    } else {
      open.push_back(task);
    }
  }
  std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  for (const std::size_t task : open) {
    const std::optional<int> first = nearest_gap(taken, counts[task], before[task].first);
    if (!first) return closed_up(counts, before);
    ranges[task] = {*first, counts[task]};
    take(taken, ranges[task]);
  }
  return ranges;
}

}  // namespace multicard
