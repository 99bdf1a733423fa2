#include "scheduling/solve/NodePlacement.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "scheduling/solve/FreeGpus.hpp"

namespace multicard {

namespace {

constexpr int kMostSteps = 50'000;
constexpr std::int64_t kOperationsPerStep = 20;

class Search {
 public:
  Search(const Split& split, const Machine& machine)
      : split_(split), num_nodes_(machine.nodes), free_(machine), placement_(split.size()) {
    for (std::size_t task = 0; task < split.size(); ++task)
      if (split[task].nodes > 0) bound_.push_back(task);
    // Those with the most GPUs a node first (compared without division): they have the fewest places to go.
    std::stable_sort(bound_.begin(), bound_.end(), [&](std::size_t a, std::size_t b) {
      return split[a].gpus * split[b].nodes > split[b].gpus * split[a].nodes;
    });
  }

  std::optional<std::vector<Placement>> run() {
    if (!can_place_bound()) return std::nullopt;
    place_others();
    for (Placement& shares : placement_)
      std::sort(shares.begin(), shares.end(), [](const NodeShare& a, const NodeShare& b) { return a.node < b.node; });
    return placement_;
  }

  /// Whether the tasks that are bound to numbers of nodes have places, which is enough.
  bool can_place_bound() { return place_bound(0); }
  bool is_cut_short() const { return steps_ > kMostSteps; }
  /// What the search took so far.
  std::int64_t num_operations() const {
    return (steps_ + 1) * kOperationsPerStep + static_cast<std::int64_t>(split_.size()) + num_nodes_;
  }

 private:
  bool place_bound(std::size_t number) {
    if (number == bound_.size()) return true;
    std::vector<int> order(static_cast<std::size_t>(num_nodes_));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return free_.of_node(a) > free_.of_node(b); });
    const Choice& choice = split_[bound_[number]];
    return share_out(number, order, 0, choice.gpus, choice.nodes, {});
  }

  /// The part of the node before this one, if that had equally many free GPUs: this one gets no more.
  struct Before {
    int free = -1;
    int part = 0;
  };

  /// Gives the task's last `gpus` GPUs on `nodes` nodes of order[at...], which have less and less free.
  bool share_out(std::size_t number, const std::vector<int>& order, std::size_t at, int gpus, int nodes,
                 Before before) {
    if (++steps_ > kMostSteps) return false;
    if (nodes == 0) return gpus == 0 && place_bound(number + 1);
    if (order.size() - at < static_cast<std::size_t>(nodes)) return false;
    const int node = order[at], room = free_.of_node(node);
    // Nodes are in the order of their room: the later ones do not have more.
    if (room == 0 || gpus > nodes * room) return false;
    int most = std::min(room, gpus - (nodes - 1));
    if (before.free == room) most = std::min(most, before.part);
    // First the even share; then all others, so that no placement is missed.
    const int even = (gpus + nodes - 1) / nodes;
    if (try_part(number, order, at, gpus, nodes, std::min(even, most))) return true;
    for (int part = most; part > 0; --part)
      if (part != std::min(even, most) && try_part(number, order, at, gpus, nodes, part)) return true;
    // Not this node: then none with as much room either.
    std::size_t next = at + 1;
    while (next < order.size() && free_.of_node(order[next]) == room)
      ++next;
    return share_out(number, order, next, gpus, nodes, {});
  }

  bool try_part(std::size_t number, const std::vector<int>& order, std::size_t at, int gpus, int nodes, int part) {
    const int node = order[at], room = free_.of_node(node);
    Placement& shares = placement_[bound_[number]];
    shares.push_back({node, part});
    free_.take(shares.back());
    if (share_out(number, order, at + 1, gpus - part, nodes - 1, {room, part})) return true;
    free_.give_back(shares.back());
    shares.pop_back();
    return false;
  }

  void place_others() {
    for (std::size_t task = 0; task < split_.size(); ++task)
      if (split_[task].nodes == 0) placement_[task] = free_.take_tightest(split_[task].gpus);
  }

  const Split& split_;
  int num_nodes_;
  FreeGpus free_;
  std::vector<std::size_t> bound_;
  std::vector<Placement> placement_;
  int steps_ = 0;
};

/// GPUs than the machine has.
bool needs_more(const Split& split, const Machine& machine) {
  std::int64_t gpus = 0;
  for (const Choice& choice : split)
    gpus += choice.gpus;
  return gpus > machine.gpus();
}

}  // namespace

std::optional<std::vector<Placement>> place(const Split& split, const Machine& machine) {
  if (needs_more(split, machine)) return std::nullopt;
  return Search(split, machine).run();
}

Placeable can_place(const Split& split, const Machine& machine, SearchBudget& budget) {
  if (needs_more(split, machine)) return Placeable::no;
  Search search(split, machine);
  const bool is_placed = search.can_place_bound();
  budget.take(search.num_operations());
  if (is_placed) return Placeable::yes;
  return search.is_cut_short() ? Placeable::unknown : Placeable::no;
}

}  // namespace multicard
