#include "scheduling/policy/Layout.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "scheduling/solve/FreeGpus.hpp"

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
    // Those that run keep their order, so that none has to pass another; new ones follow.
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

std::vector<Placement> consecutive(const Layout& layout, const std::vector<Placement>& before,
                                   const std::vector<int>& counts) {
  const int per_node = layout.machine.gpus_per_node;
  std::vector<RankRange> ranges;
  ranges.reserve(before.size());
  for (const Placement& placement : before)
    ranges.push_back(range_of(placement, per_node));
  std::vector<Placement> places;
  places.reserve(before.size());
  for (const RankRange& range : lay_out(counts, ranges, layout.num_gpus))
    places.push_back(placement_of(range, per_node));
  return places;
}

}  // namespace

Layout Layout::of_ranks(int num_ranks, int ranks_per_node) {
  return {{(num_ranks + ranks_per_node - 1) / ranks_per_node, ranks_per_node}, num_ranks};
}

Layout Layout::of_cluster(const Machine& machine, PlacementRule rule) {
  return {machine, machine.gpus(), rule, MoveOrder::at_once};
}

Placement placement_of(const RankRange& range, int ranks_per_node) {
  Placement placement;
  for (int rank = range.first; rank < range.first + range.count; rank += placement.back().gpus) {
    const int node = rank / ranks_per_node, first = rank % ranks_per_node;
    placement.push_back({node, std::min(ranks_per_node - first, range.first + range.count - rank), first});
  }
  return placement;
}

RankRange range_of(const Placement& placement, int ranks_per_node) {
  if (placement.empty()) return {};
  return {placement.front().node * ranks_per_node + placement.front().first, gpus_of(placement)};
}

// A move costs its task seconds, so ranges whose count stays are kept; of the others the largest choose first, as gaps
// for them are rarest. Where gaps are too small, all close up: many moves, but always possible.
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

std::vector<Placement> place(const Layout& layout, const std::vector<Placement>& before,
                             const std::vector<int>& counts) {
  if (layout.rule == PlacementRule::consecutive) return consecutive(layout, before, counts);
  std::vector<Placement> places(before.size());
  std::vector<std::size_t> others;
  FreeGpus free(layout.machine);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (gpus_of(before[i]) == counts[i]) {
      places[i] = before[i];
      free.take(places[i]);
    } else {
      others.push_back(i);
    }
  }
  const bool is_smallest_first = layout.rule == PlacementRule::smallest_first;
  std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
    return is_smallest_first ? counts[a] < counts[b] : counts[a] > counts[b];
  });
  for (const std::size_t i : others)
    places[i] = is_smallest_first ? free.take_widest(counts[i]) : free.take_tightest(counts[i]);
  return places;
}

}  // namespace multicard
