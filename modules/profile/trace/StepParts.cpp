#include "profile/trace/StepParts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace multicard {

namespace {

constexpr const char* kForward = "forward";
constexpr const char* kRecomputed = "recomputed";
constexpr const char* kBackward = "backward";
constexpr std::array<const char*, 3> kPasses{kForward, kRecomputed, kBackward};
enum class Pass : std::uint8_t { forward, recomputed, backward };

/// Durations and cost of what belongs together.
struct Part {
  std::vector<std::int64_t> durations;
  OperatorCost cost;
};

/// The blocks of a trace: by time on each thread, and by the nodes that they made.
class BlockIndex {
 public:
  explicit BlockIndex(const Trace& trace) : by_time_(sorted(trace, &BlockRange::begin)) {
    by_node_ = sorted(trace, &BlockRange::first_node);
  }

  /// The innermost block that the thread was in; null: none.
  const BlockRange* at(std::int32_t thread, std::int64_t moment) const {
    return enclosing(
        by_time_, thread, moment, [](const BlockRange& block) { return block.begin; },
        [](const BlockRange& block) { return block.end; });
  }
  /// The innermost block that made the node; null: none.
  const BlockRange* of(const AutogradNode& node) const {
    return enclosing(
        by_node_, node.thread, node.number, [](const BlockRange& block) { return block.first_node; },
        [](const BlockRange& block) { return block.end_node; });
  }

 private:
  using Blocks = std::map<std::int32_t, std::vector<const BlockRange*>>;

  template <class Member>
  static Blocks sorted(const Trace& trace, Member first) {
    Blocks blocks;
    for (const BlockRange& block : trace.blocks)
      blocks[block.thread].push_back(&block);
    for (auto& [thread, of_thread] : blocks)
      std::stable_sort(of_thread.begin(), of_thread.end(),
                       [&](const BlockRange* a, const BlockRange* b) { return a->*first < b->*first; });
    return blocks;
  }

  // Blocks hold few others, so the one that encloses `value` is at or shortly before the last that begins by then.
  template <class First, class End>
  static const BlockRange* enclosing(const Blocks& blocks, std::int32_t thread, std::int64_t value, const First& first,
                                     const End& end) {
    const auto found = blocks.find(thread);
    if (found == blocks.end()) return nullptr;
    const std::vector<const BlockRange*>& of_thread = found->second;
    auto after = std::upper_bound(of_thread.begin(), of_thread.end(), value,
                                  [&](std::int64_t at, const BlockRange* block) { return at < first(*block); });
    constexpr std::ptrdiff_t kMostInside = 8;
    const auto least = after - std::min(kMostInside, after - of_thread.begin());
    while (after != least) {
      --after;
      if (value < end(**after)) return *after;
    }
    return nullptr;
  }

  Blocks by_time_, by_node_;
};

/// Which block and pass each operator belongs to.
class BlockPlaces {
 public:
  struct Place {
    const BlockRange* block = nullptr;
    Pass pass = Pass::forward;
  };

  BlockPlaces(const Trace& trace, const PlacedOperators& placed) : trace_(trace), placed_(placed), blocks_(trace) {}

  Place of(std::size_t index) const {
    const HostRange& range = trace_.operators[index];
    const std::optional<AutogradNode> node = node_of(index);
    if (const BlockRange* block = blocks_.at(range.thread, range.begin))
      return {block, node ? Pass::recomputed : Pass::forward};
    if (!node) return {};
    return {blocks_.of(*node), Pass::backward};
  }

  /// Whether a block's forward pass is run again: in backward.
  bool is_recomputed(const BlockRange& block, const PhaseIndex& phases) const {
    const PhaseSpan* phase = phases.at(block.begin);
    return phase && phase->phase == Phase::backward;
  }

  /// Whether the operator is the run of a node, and not within that of another, as nodes of a pass that was run again
  /// are.
  bool is_outermost_node(std::size_t index) const {
    if (!is_node(index)) return false;
    const std::int64_t caller = placed_.operators[index].caller;
    return caller < 0 || !node_of(static_cast<std::size_t>(caller));
  }

 private:
  bool is_node(std::size_t index) const { return index < trace_.nodes.size() && trace_.nodes[index].number >= 0; }
  /// That which the operator runs, or the innermost one within which it was called.
  std::optional<AutogradNode> node_of(std::size_t index) const {
    for (auto at = static_cast<std::int64_t>(index); at >= 0;
         at = placed_.operators[static_cast<std::size_t>(at)].caller)
      if (is_node(static_cast<std::size_t>(at))) return trace_.nodes[static_cast<std::size_t>(at)];
    return std::nullopt;
  }

  const Trace& trace_;
  const PlacedOperators& placed_;
  BlockIndex blocks_;
};

}  // namespace

const PhaseSpan* PhaseIndex::at(std::int64_t moment) const {
  const auto after = std::upper_bound(phases_.begin(), phases_.end(), moment,
                                      [](std::int64_t at, const PhaseSpan& phase) { return at < phase.begin; });
  if (after == phases_.begin()) return nullptr;
  const PhaseSpan& phase = *(after - 1);
  return moment < phase.end ? &phase : nullptr;
}

std::string_view PhaseIndex::name_at(std::int64_t moment) const {
  const PhaseSpan* phase = at(moment);
  return phase ? kPhaseNames[static_cast<std::size_t>(phase->phase)] : std::string_view();
}

std::vector<PhaseRow> phase_rows(const Trace& trace, const PlacedOperators& placed, const CallsByCorrelation& calls) {
  const PhaseIndex phases(trace);
  std::map<Phase, Part> parts;
  for (const PhaseSpan& phase : trace.phases)
    parts.try_emplace(phase.phase, Part{{}, no_cost(trace)}).first->second.durations.push_back(phase.length());
  for (std::size_t i = 0; i < trace.operators.size(); ++i)
    if (const PhaseSpan* phase = phases.at(trace.operators[i].begin))
      parts[phase->phase].cost.add(placed.operators[i].cost);
  for (const std::int64_t index : placed.without) {
    const GpuEvent& event = trace.gpu[static_cast<std::size_t>(index)];
    if (const PhaseSpan* phase = phases.at(calls.find(event.correlation)->begin))
      parts[phase->phase].cost.add({.gpu_ns = event.length(), .gpu_count = 1});
  }
  std::vector<PhaseRow> rows;
  rows.reserve(parts.size());
  for (auto& [phase, part] : parts)
    rows.push_back({kPhaseNames[static_cast<std::size_t>(phase)], distribution_of(std::move(part.durations)), part.cost,
                    static_cast<std::int64_t>(phase)});
  return rows;
}

std::vector<BlockRow> block_rows(const Trace& trace, const PlacedOperators& placed) {
  const BlockPlaces places(trace, placed);
  const PhaseIndex phases(trace);
  std::map<std::pair<std::int32_t, Pass>, Part> parts;  // names have numbers in the order of their first use
  const auto part_of = [&](std::int32_t name, Pass pass) -> Part& {
    return parts.try_emplace({name, pass}, Part{{}, no_cost(trace)}).first->second;
  };
  for (const BlockRange& block : trace.blocks)
    part_of(block.name, places.is_recomputed(block, phases) ? Pass::recomputed : Pass::forward)
        .durations.push_back(block.length());
  for (std::size_t i = 0; i < trace.operators.size(); ++i) {
    const BlockPlaces::Place place = places.of(i);
    if (!place.block) continue;
    Part& part = part_of(place.block->name, place.pass);
    part.cost.add(placed.operators[i].cost);
    if (place.pass == Pass::backward && places.is_outermost_node(i))
      part.durations.push_back(trace.operators[i].length());
  }
  std::vector<BlockRow> rows;
  rows.reserve(parts.size());
  for (auto& [key, part] : parts)
    rows.push_back({trace.names.name(key.first), kPasses[static_cast<std::size_t>(key.second)],
                    distribution_of(std::move(part.durations)), part.cost, key.first});
  return rows;
}

}  // namespace multicard
