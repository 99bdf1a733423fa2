#include "scheduling/solve/NearPlacement.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "scheduling/solve/NodePlacement.hpp"

namespace multicard {

namespace {

constexpr int kMostSteps = 50'000;

int sum_of(const GpusByNode& gpus) {
  return std::accumulate(gpus.begin(), gpus.end(), 0);
}

int nodes_of(const GpusByNode& gpus) {
  return static_cast<int>(std::ranges::count_if(gpus, [](int number) { return number > 0; }));
}

/// Of one task.
PlacementCost cost_of(const Choice& choice, const Machine& machine, const GpusByNode& before, const GpusByNode& after,
                      Spread spread) {
  PlacementCost cost;
  const bool keeps_numbers =
      choice.gpus > 0 && sum_of(before) == choice.gpus && (choice.nodes == 0 || nodes_of(before) == choice.nodes);
  const bool stays = before == after;
  cost.moves = keeps_numbers && !stays ? 1 : 0;
  if (choice.nodes == 0 && choice.gpus > 0 && !stays)
    cost.nodes = spread == Spread::packed ? nodes_of(after) - machine.fewest_nodes(choice.gpus)
                                          : std::min(choice.gpus, machine.nodes_in_use()) - nodes_of(after);
  for (std::size_t node = 0; node < after.size(); ++node)
    cost.gained += std::max(0, after[node] - before[node]);
  return cost;
}

PlacementCost operator+(const PlacementCost& a, const PlacementCost& b) {
  return {a.moves + b.moves, a.nodes + b.nodes, a.gained + b.gained};
}

class NearSearch {
 public:
  NearSearch(const Split& split, const Machine& machine, const std::vector<GpusByNode>& before, Spread spread)
      : split_(split),
        machine_(machine),
        before_(before),
        spread_(spread),
        free_(static_cast<std::size_t>(machine.nodes)),
        places_(split.size(), GpusByNode(free_.size())),
        order_(split.size()) {
    for (std::size_t node = 0; node < free_.size(); ++node)
      free_[node] = machine.gpus_of(static_cast<int>(node));
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // Those that can stay first, so that the first complete placement has few moves; then those that are hardest to
    // place.
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return key(a) > key(b); });
  }

  std::optional<std::vector<GpusByNode>> run() {
    search(0, {});
    return best_;
  }

 private:
  std::tuple<bool, int> key(std::size_t task) const {
    return {sum_of(before_[task]) == split_[task].gpus, split_[task].gpus};
  }

  void search(std::size_t number, const PlacementCost& cost) {
    if (best_ && !(cost < smallest_)) return;
    if (number == order_.size()) {
      best_ = places_;
      smallest_ = cost;
      return;
    }
    const std::size_t task = order_[number];
    const Choice& choice = split_[task];
    if (choice.gpus == 0) return search(number + 1, cost);
    const GpusByNode& had = before_[task];
    if (sum_of(had) == choice.gpus && (choice.nodes == 0 || nodes_of(had) == choice.nodes) && fits(had))
      with(task, had, [&] { search(number + 1, cost + cost_of(choice, machine_, had, had, spread_)); });
    std::vector<std::size_t> nodes(free_.size());
    std::iota(nodes.begin(), nodes.end(), std::size_t{0});
    // Where the task is, then where all of it fits and the least is left over, then where most is free.
    std::stable_sort(nodes.begin(), nodes.end(), [&](std::size_t a, std::size_t b) {
      const auto rank = [&](std::size_t node) {
        const bool holds = spread_ == Spread::packed && free_[node] >= choice.gpus;
        return std::tuple(-had[node], !holds, holds ? free_[node] : -free_[node]);
      };
      return rank(a) < rank(b);
    });
    share_out(number, nodes, 0, choice.gpus, choice.nodes, cost);
  }

  /// Gives the task's last `gpus` GPUs on nodes[at...]; on `left` of them where it is bound (else 0).
  void share_out(std::size_t number, const std::vector<std::size_t>& nodes, std::size_t at, int gpus, int left,
                 const PlacementCost& cost) {
    if (++steps_ > kMostSteps) return;
    const std::size_t task = order_[number];
    const bool is_bound = split_[task].nodes > 0;
    if (gpus == 0) {
      if (is_bound && left > 0) return;
      search(number + 1, cost + cost_of(split_[task], machine_, before_[task], places_[task], spread_));
      return;
    }
    if (at == nodes.size() || (is_bound && (left == 0 || static_cast<std::size_t>(left) > nodes.size() - at))) return;
    const std::size_t node = nodes[at];
    const int most = std::min(free_[node], is_bound ? gpus - left + 1 : gpus);
    const auto give = [&](int part) {
      places_[task][node] = part;
      free_[node] -= part;
      share_out(number, nodes, at + 1, gpus - part, left - (is_bound && part > 0 ? 1 : 0), cost);
      free_[node] += part;
      places_[task][node] = 0;
    };
    // Its even share of the nodes it is bound to comes first, as place() does; unbound, all or one that fit.
    const int first = is_bound ? std::min(most, (gpus + left - 1) / left) : spread_ == Spread::packed ? most : 1;
    if (first <= most) give(first);
    for (int part = most; part >= 0; --part)
      if (part != first) give(part);
  }

  bool fits(const GpusByNode& gpus) const {
    for (std::size_t node = 0; node < free_.size(); ++node)
      if (gpus[node] > free_[node]) return false;
    return true;
  }

  template <class Then>
  void with(std::size_t task, const GpusByNode& gpus, const Then& then) {
    for (std::size_t node = 0; node < free_.size(); ++node)
      free_[node] -= gpus[node];
    places_[task] = gpus;
    then();
    places_[task].assign(free_.size(), 0);
    for (std::size_t node = 0; node < free_.size(); ++node)
      free_[node] += gpus[node];
  }

  const Split& split_;
  const Machine& machine_;
  const std::vector<GpusByNode>& before_;
  Spread spread_;
  std::vector<int> free_;
  std::vector<GpusByNode> places_;
  std::vector<std::size_t> order_;
  std::optional<std::vector<GpusByNode>> best_;
  PlacementCost smallest_;
  int steps_ = 0;
};

}  // namespace

PlacementCost placement_cost(const Split& split, const Machine& machine, const std::vector<GpusByNode>& before,
                             const std::vector<GpusByNode>& after, Spread spread) {
  PlacementCost cost;
  for (std::size_t task = 0; task < split.size(); ++task)
    cost = cost + cost_of(split[task], machine, before[task], after[task], spread);
  return cost;
}

std::optional<std::vector<GpusByNode>> place_near(const Split& split, const Machine& machine,
                                                  const std::vector<GpusByNode>& before, Spread spread) {
  if (auto found = NearSearch(split, machine, before, spread).run()) return found;
  const std::optional<std::vector<Placement>> placed = place(split, machine);
  if (!placed) return std::nullopt;
  std::vector<GpusByNode> found(split.size(), GpusByNode(static_cast<std::size_t>(machine.nodes)));
  for (std::size_t task = 0; task < split.size(); ++task)
    for (const NodeShare& share : (*placed)[task])
      found[task][static_cast<std::size_t>(share.node)] += share.gpus;
  return found;
}

}  // namespace multicard
