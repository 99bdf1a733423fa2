#include "scheduling/policy/Layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

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

void take(std::vector<bool>& taken, const RankSet& ranks) {
  for (const int rank : ranks.ranks())
    taken[static_cast<std::size_t>(rank)] = true;
}

/// Free ranks, its own first.
RankSet scattered(const std::vector<bool>& taken, int count, const RankSet& own) {
  std::vector<int> chosen;
  for (const bool is_own : {true, false})
    for (int rank = 0; rank < static_cast<int>(taken.size()) && static_cast<int>(chosen.size()) < count; ++rank)
      if (!taken[static_cast<std::size_t>(rank)] && own.contains(rank) == is_own) chosen.push_back(rank);
  return RankSet(std::move(chosen));
}

/// GPUs of each task on each node, whatever they are called there.
std::vector<GpusByNode> by_node(const Layout& layout, const std::vector<Placement>& placements) {
  std::vector<GpusByNode> all;
  for (const Placement& placement : placements) {
    GpusByNode& gpus = all.emplace_back(static_cast<std::size_t>(layout.machine.nodes));
    for (const NodeShare& share : placement)
      gpus[static_cast<std::size_t>(share.node)] += share.gpus;
  }
  return all;
}

/// The places on one node, by their numbers there.
RankSet on_node(const Placement& placement, int node) {
  std::vector<int> ranks;
  for (const NodeShare& share : placement)
    for (int i = 0; share.node == node && i < share.gpus; ++i)
      ranks.push_back(share.first + i);
  return RankSet(std::move(ranks));
}

void add_parts(Placement& placement, int node, const RankSet& ranks) {
  int last = -2;
  for (const int rank : ranks.ranks()) {
    if (rank != last + 1) placement.push_back({node, 0, rank});
    ++placement.back().gpus;
    last = rank;
  }
}

Split split_of(const std::vector<RanksOnNodes>& counts) {
  Split split;
  for (const RanksOnNodes& count : counts)
    split.push_back({count.ranks, count.nodes, 0});
  return split;
}

std::vector<Placement> place_ranks(const Layout& layout, const std::vector<Placement>& before,
                                   const std::vector<RanksOnNodes>& counts) {
  const std::vector<GpusByNode> had = by_node(layout, before);
  Split split = split_of(counts);
  std::optional<std::vector<GpusByNode>> found = place_near(split, layout.machine, had, layout.spread);
  if (!found) {
    for (Choice& choice : split)
      choice.nodes = 0;
    found = place_near(split, layout.machine, had, layout.spread);
  }
  if (!found) throw std::logic_error("more ranks are given to tasks than there are");
  std::vector<Placement> places(before.size());
  for (int node = 0; node < layout.machine.nodes; ++node) {
    std::vector<int> here;
    std::vector<RankSet> were;
    for (std::size_t task = 0; task < before.size(); ++task) {
      here.push_back((*found)[task][static_cast<std::size_t>(node)]);
      were.push_back(on_node(before[task], node));
    }
    const std::vector<RankSet> ranks = lay_out(here, were, layout.machine.gpus_of(node));
    for (std::size_t task = 0; task < before.size(); ++task)
      add_parts(places[task], node, ranks[task]);
  }
  return places;
}

}  // namespace

Layout Layout::of_ranks(int num_ranks, int ranks_per_node) {
  std::vector<int> node_of_rank;
  node_of_rank.reserve(static_cast<std::size_t>(num_ranks));
  for (int rank = 0; rank < num_ranks; ++rank)
    node_of_rank.push_back(rank / ranks_per_node);
  return of_nodes(node_of_rank);
}

Layout Layout::of_nodes(const std::vector<int>& node_of_rank) {
  Layout layout;
  std::map<int, std::size_t> numbers;  // of the nodes, in the order of their first ranks
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const std::size_t node = numbers.try_emplace(node_of_rank[rank], numbers.size()).first->second;
    layout.ranks_of_nodes.resize(numbers.size());
    layout.ranks_of_nodes[node].push_back(static_cast<int>(rank));
  }
  layout.num_gpus = static_cast<int>(node_of_rank.size());
  std::vector<int> sizes;
  for (const std::vector<int>& ranks : layout.ranks_of_nodes)
    sizes.push_back(static_cast<int>(ranks.size()));
  layout.machine.nodes = static_cast<int>(sizes.size());
  layout.machine.gpus_per_node = std::ranges::max(sizes);
  if (std::ranges::min(sizes) < layout.machine.gpus_per_node) layout.machine.gpus_of_nodes = sizes;
  return layout;
}

Layout Layout::of_cluster(const Machine& machine, PlacementRule rule) {
  return {machine, machine.gpus(), rule, MoveOrder::at_once};
}

Placement Layout::placement_of(const RankSet& ranks) const {
  Placement placement;
  for (std::size_t node = 0; node < ranks_of_nodes.size(); ++node) {
    const std::vector<int>& here = ranks_of_nodes[node];
    std::vector<int> local;
    for (std::size_t i = 0; i < here.size(); ++i)
      if (ranks.contains(here[i])) local.push_back(static_cast<int>(i));
    add_parts(placement, static_cast<int>(node), RankSet(std::move(local)));
  }
  return placement;
}

RankSet Layout::ranks_of(const Placement& placement) const {
  std::vector<int> ranks;
  for (const NodeShare& share : placement) {
    const auto first = ranks_of_nodes[static_cast<std::size_t>(share.node)].begin() + share.first;
    ranks.insert(ranks.end(), first, first + share.gpus);
  }
  return RankSet(std::move(ranks));
}

// A move costs its task seconds, so ranks of a task whose count stays are kept; of the others the largest choose first,
// as gaps for them are rarest.
std::vector<RankSet> lay_out(const std::vector<int>& counts, const std::vector<RankSet>& before, int num_ranks) {
  if (std::accumulate(counts.begin(), counts.end(), 0) > num_ranks)
    throw std::logic_error("more ranks are given to tasks than there are");
  std::vector<RankSet> sets(counts.size());
  std::vector<bool> taken(static_cast<std::size_t>(num_ranks));
  std::vector<std::size_t> open;
  for (std::size_t task = 0; task < counts.size(); ++task) {
    if (counts[task] == 0) continue;
    if (before[task].count() == counts[task]) {
      sets[task] = before[task];
      take(taken, sets[task]);
    } else {
      open.push_back(task);
    }
  }
  std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
  for (const std::size_t task : open) {
    const std::optional<int> first = nearest_gap(taken, counts[task], before[task].first());
    sets[task] = first ? RankSet(*first, counts[task]) : scattered(taken, counts[task], before[task]);
    take(taken, sets[task]);
  }
  return sets;
}

std::vector<Placement> place(const Layout& layout, const std::vector<Placement>& before,
                             const std::vector<RanksOnNodes>& counts) {
  if (layout.rule == PlacementRule::near) return place_ranks(layout, before, counts);
  std::vector<Placement> places(before.size());
  std::vector<std::size_t> others;
  FreeGpus free(layout.machine);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (gpus_of(before[i]) == counts[i].ranks) {
      places[i] = before[i];
      free.take(places[i]);
    } else {
      others.push_back(i);
    }
  }
  const bool is_smallest_first = layout.rule == PlacementRule::smallest_first;
  std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
    return is_smallest_first ? counts[a].ranks < counts[b].ranks : counts[a].ranks > counts[b].ranks;
  });
  for (const std::size_t i : others)
    places[i] = is_smallest_first ? free.take_widest(counts[i].ranks) : free.take_tightest(counts[i].ranks);
  return places;
}

std::vector<Placement> place(const Layout& layout, const std::vector<Placement>& before,
                             const std::vector<int>& counts) {
  return place(layout, before, std::vector<RanksOnNodes>(counts.begin(), counts.end()));
}

}  // namespace multicard
