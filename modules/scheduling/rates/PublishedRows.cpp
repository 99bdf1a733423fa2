#include "scheduling/rates/PublishedRows.hpp"

#include <numeric>

namespace multicard {

namespace {

constexpr int kMostGpus = 1 << 24;
constexpr int kLargestBatch = 1'000'000'000;

}  // namespace

PolluxRow pollux_row(const CsvTable& table, std::size_t row, double least_step_s, NodesColumn nodes) {
  PolluxRow found;
  if (table.has("placement")) {
    // GPUs of one node after another, a digit each: "44" is two nodes with 4.
    found.placement = table.digits(row, "placement", "node");
    found.gpus = std::accumulate(found.placement.begin(), found.placement.end(), 0);
    found.nodes = static_cast<int>(found.placement.size());
  } else {
    found.gpus = static_cast<int>(table.whole(row, "num_replicas", 1, kMostGpus));
    if (nodes == NodesColumn::required || table.has("num_nodes"))
      found.nodes = static_cast<int>(table.whole(row, "num_nodes", 1, found.gpus));
  }
  found.local_batch = static_cast<int>(table.whole(row, "local_bsz", 1, kLargestBatch));
  found.step_s = table.number(row, "step_time", least_step_s, kLongestStep);
  return found;
}

RubickRow rubick_row(const CsvTable& table, std::size_t row) {
  RubickRow found;
  if (table.has("exec_plan")) found.plan = table.text(row, "exec_plan");
  found.placement = table.digits(row, "placement", "node");
  found.gpus = std::accumulate(found.placement.begin(), found.placement.end(), 0);
  found.step_s = table.number(row, "iter_time", 0, kLongestStep);
  return found;
}

}  // namespace multicard
