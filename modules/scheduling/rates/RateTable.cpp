#include "scheduling/rates/RateTable.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace multicard {

namespace {

bool exists_on(const RateRow& row, const Machine& machine) {
  if (row.gpus > machine.gpus()) return false;
  if (row.nodes == 0) return true;
  if (row.source.most_per_node > machine.gpus_per_node) return false;
  return row.nodes <= machine.nodes_in_use() && row.nodes <= row.gpus && row.gpus <= machine.most_gpus_on(row.nodes);
}

bool is_usable(const RateRow& row, const Machine& machine) {
  return row.gpus > 0 && row.rate > 0 && row.memory_gb <= machine.memory_gb && exists_on(row, machine);
}

}  // namespace

RateTable::RateTable(std::vector<RateRow> rows) : rows_(std::move(rows)) {
  std::stable_sort(rows_.begin(), rows_.end(), [](const RateRow& a, const RateRow& b) {
    return std::tie(a.gpus, a.nodes) < std::tie(b.gpus, b.nodes);
  });
}

std::vector<Choice> RateTable::usable(const Machine& machine) const {
  std::vector<Choice> choices;
  for (const RateRow& row : rows_) {
    if (!is_usable(row, machine)) continue;
    // Rows are sorted, so those of the same GPUs and nodes are neighbours: the fastest of them counts.
    if (choices.empty() || choices.back().gpus != row.gpus || choices.back().nodes != row.nodes)
      choices.push_back({row.gpus, row.nodes, row.rate});
    choices.back().rate = std::max(choices.back().rate, row.rate);
  }
  return choices;
}

Choice RateTable::best(const Machine& machine) const {
  Choice best;
  for (const Choice& choice : usable(machine))
    if (choice.rate > best.rate) best = choice;
  return best;
}

RateSource RateTable::source(int gpus, int nodes, const Machine& machine) const {
  const RateRow* fastest = nullptr;
  for (const RateRow& row : rows_)
    if (row.gpus == gpus && (row.nodes == nodes || row.nodes == 0 || nodes == 0) && is_usable(row, machine) &&
        (fastest == nullptr || row.rate > fastest->rate))
      fastest = &row;
  return fastest == nullptr ? RateSource() : fastest->source;
}

std::optional<Interval> RateTable::interval(const Choice& choice) const {
  const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const RateRow& one) {
    return one.gpus == choice.gpus && one.nodes == choice.nodes && one.rate == choice.rate;
  });
  return row == rows_.end() ? std::nullopt : row->interval;
}

}  // namespace multicard
