#include "scheduling/solve/PhaseOrder.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

namespace multicard {

namespace {

constexpr std::int64_t kPause = 1000;  ///< changes of GPUs that one pause is worth
constexpr int kMostRounds = 8;

/// An order of phases and how it disturbs tasks. A task pauses once less than it starts, so that all that counts stands
/// between neighbours: starts and changes of GPUs.
class Order {
 public:
  explicit Order(const std::vector<SplitPhase>& phases) : size_(phases.size()), positions_(size_) {
    std::iota(positions_.begin(), positions_.end(), std::size_t{0});
    const Split nothing(phases.front().split.size());
    costs_.reserve((size_ + 1) * size_);
    for (std::size_t before = 0; before <= size_; ++before)
      for (const SplitPhase& phase : phases)
        costs_.push_back(cost_between(before < size_ ? phases[before].split : nothing, phase.split));
  }

  const std::vector<std::size_t>& positions() const { return positions_; }

  /// Exchanges the phases at two positions if that disturbs less.
  bool exchange(std::size_t a, std::size_t b) {
    const std::int64_t before = cost_around(a, b);
    std::swap(positions_[a], positions_[b]);
    if (cost_around(a, b) < before) return true;
    std::swap(positions_[a], positions_[b]);
    return false;
  }

 private:
  static std::int64_t cost_between(const Split& before, const Split& after) {
    std::int64_t cost = 0;
    for (std::size_t task = 0; task < after.size(); ++task) {
      if (after[task].gpus == 0) continue;
      if (before[task].gpus == 0)
        cost += kPause;
      else if (before[task].gpus != after[task].gpus)
        ++cost;
    }
    return cost;
  }

  /// Between the phase at `position` and the one before it.
  std::int64_t cost_at(std::size_t position) const {
    if (position == size_) return 0;
    const std::size_t before = position == 0 ? size_ : positions_[position - 1];
    return costs_[before * size_ + positions_[position]];
  }

  /// Of all pairs of neighbours of which one is at `a` or at `b`, a < b.
  std::int64_t cost_around(std::size_t a, std::size_t b) const {
    return cost_at(a) + cost_at(a + 1) + (b == a + 1 ? 0 : cost_at(b)) + cost_at(b + 1);
  }

  std::size_t size_;
  std::vector<std::size_t> positions_;
  std::vector<std::int64_t> costs_;  ///< [phase before, or none][phase]
};

}  // namespace

void order_phases(std::vector<SplitPhase>& phases, const std::vector<std::size_t>& stages) {
  if (std::adjacent_find(stages.begin(), stages.end()) == stages.end()) return;
  Order order(phases);
  bool has_improved = true;
  for (int round = 0; has_improved && round < kMostRounds; ++round) {
    has_improved = false;
    // The cost of a stage does not depend on the order of its phases.
    for (std::size_t a = 0; a < phases.size(); ++a)
      for (std::size_t b = a + 1; b < phases.size() && stages[b] == stages[a]; ++b)
        has_improved = order.exchange(a, b) || has_improved;
  }
  std::vector<SplitPhase> ordered;
  ordered.reserve(phases.size());
  for (const std::size_t phase : order.positions())
    ordered.push_back(std::move(phases[phase]));
  phases = std::move(ordered);
}

}  // namespace multicard
