#include "share/PlacementNotes.hpp"

#include <numeric>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

std::string nodes_text(const NodeCounts& counts) {
  const std::string nodes = counted(static_cast<long>(counts.size()), "node");
  return counts.size() > 1 ? fmt::format("{} ({})", nodes, counts_text(counts)) : nodes;
}

void PlacementNotes::add(const TaskView& task, const NodeCounts& chosen, const Machine& machine, double now) {
  const int ranks = std::accumulate(chosen.begin(), chosen.end(), 0);
  const double rate = rate_on(task, {ranks, static_cast<int>(chosen.size())});
  std::vector<AllocationPlacement> compared;
  std::vector<std::string> others;
  for (const RateRow& row : task.rates.rows()) {
    if (row.gpus != ranks || row.nodes == static_cast<int>(chosen.size()) || !(row.rate > 0)) continue;
    const NodeCounts counts = even_counts(machine, ranks, row.nodes);
    compared.push_back({now, task.name, counts_text(counts), 1 / row.rate, 0});
    others.push_back(fmt::format("{:.3g} ms on {}", 1000 / row.rate, nodes_text(counts)));
  }
  if (!(rate > 0) || compared.empty()) return;
  key += fmt::format("{} {}\n", task.name, counts_text(chosen));
  rows.push_back({now, task.name, counts_text(chosen), 1 / rate, 1});
  rows.insert(rows.end(), compared.begin(), compared.end());
  lines.push_back(fmt::format("{:>8.1f} s  {} has {} on {}: a step of {:.3g} ms, predicted {}", now, task.name,
                              counted(ranks, "rank"), nodes_text(chosen), 1000 / rate, join(others, ", ")));
}

}  // namespace multicard
