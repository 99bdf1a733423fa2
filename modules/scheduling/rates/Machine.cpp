#include "scheduling/rates/Machine.hpp"

#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace multicard {

NodeCounts node_counts(const Placement& placement) {
  std::map<int, int> by_node;  // a node may have several parts, whose GPUs are not consecutive
  for (const NodeShare& share : placement)
    by_node[share.node] += share.gpus;
  NodeCounts counts;
  for (const auto& [node, gpus] : by_node)
    counts.push_back(gpus);
  return normalised_counts(std::move(counts));
}

NodeCounts normalised_counts(NodeCounts counts) {
  std::erase(counts, 0);
  std::sort(counts.begin(), counts.end(), std::greater<>());
  return counts;
}

NodeCounts even_counts(const Machine& machine, int gpus, int nodes) {
  if (nodes < 1 || gpus < nodes || nodes > machine.nodes || machine.most_gpus_on(nodes) < gpus) return {};
  std::vector<int> room;
  room.reserve(static_cast<std::size_t>(machine.nodes));
  for (int node = 0; node < machine.nodes; ++node)
    room.push_back(machine.gpus_of(node));
  std::sort(room.begin(), room.end(), std::greater<>());
  NodeCounts counts(static_cast<std::size_t>(nodes));
  // From the smallest node on: what it cannot take of an even share goes to the larger ones.
  for (int left = nodes; left > 0; --left) {
    const auto node = static_cast<std::size_t>(left - 1);
    counts[node] = std::min(room[node], gpus / left);
    gpus -= counts[node];
  }
  return counts[0] > 0 && counts.back() > 0 ? normalised_counts(std::move(counts)) : NodeCounts();
}

NodeCounts counts_from(const std::string& text) {
  NodeCounts counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('+', at), text.size());
    int value = 0;
    const auto [rest, error] = std::from_chars(text.data() + at, text.data() + end, value);
    if (error != std::errc() || rest != text.data() + end || value < 1) return {};
    counts.push_back(value);
    at = end + 1;
  }
  return normalised_counts(std::move(counts));
}

std::string counts_text(const NodeCounts& counts) {
  return fmt::format("{}", fmt::join(counts, "+"));
}

}  // namespace multicard
