#include "published/MeasuredTables.hpp"

#include "scheduling/rates/PublishedRows.hpp"

namespace multicard {
namespace {

constexpr double kLeastSeconds = 1e-9;
constexpr double kMostRows = 1e9;
constexpr std::int64_t kMostGpus = 1 << 20;

std::vector<int> spread(std::int64_t gpus, std::int64_t nodes) {
  std::vector<int> result(static_cast<std::size_t>(nodes), static_cast<int>(gpus / nodes));
  for (std::size_t node = 0; node < static_cast<std::size_t>(gpus % nodes); ++node)
    ++result[node];
  return result;
}

}  // namespace

std::vector<StepObservation> read_pollux_table(const std::string& path) {
  const CsvTable table(path);
  std::vector<StepObservation> result;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const PolluxRow measured = pollux_row(table, row, kLeastSeconds);
    const std::vector<int> gpus_of_nodes =
        measured.placement.empty() ? spread(measured.gpus, measured.nodes) : measured.placement;
    result.push_back({placed(gpus_of_nodes, measured.local_batch), measured.step_s});
  }
  return result;
}

std::map<std::string, std::vector<StepObservation>> read_rubick_table(const std::string& path, double global_batch) {
  const CsvTable table(path);
  std::map<std::string, std::vector<StepObservation>> result;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const RubickRow measured = rubick_row(table, row);
    if (measured.step_s < kLeastSeconds) continue;
    StepPoint at = placed(measured.placement, 1);
    at.rows_per_gpu = global_batch / at.gpus;
    std::string plan = measured.plan;
    if (!plan.empty() && plan[0] >= '0' && plan[0] <= '9') {
      const std::vector<int> split = table.digits(row, "exec_plan", "group");
      if (split.size() != 3 || split[0] * split[1] * split[2] != at.gpus)
        throw table.wrong(row, "exec_plan", "three numbers whose product is the number of GPUs");
      at.tensor_parallel = split[1];
      at.pipeline_stages = split[2];
      plan = "3d";
    }
    if (plan.starts_with("zero")) at.optimizer_shards = at.gpus;
    result[plan].push_back({at, measured.step_s});
  }
  return result;
}

std::vector<StepObservation> read_elasticflow_table(const std::string& path) {
  constexpr std::int64_t kGpusOfNode = 8;
  const CsvTable table(path);
  std::vector<StepObservation> result;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const double rows = table.number(row, "global_batch_size", 1, kMostRows);
    for (const std::string& column : table.columns()) {
      if (column == "global_batch_size" || table.text(row, column).empty()) continue;
      const double rate = table.number(row, column, 0, 1 / kLeastSeconds);
      const int gpus = static_cast<int>(table.whole_name(column, 1, kMostGpus));
      if (rate <= 0) continue;
      const std::int64_t nodes = (gpus + kGpusOfNode - 1) / kGpusOfNode;
      result.push_back({placed(spread(gpus, nodes), rows / gpus), 1 / rate});
    }
  }
  return result;
}

std::vector<StepObservation> read_sweep_table(const std::string& path) {
  const CsvTable table(path);
  std::vector<StepObservation> result;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const std::int64_t nodes = table.has("nodes") ? table.whole(row, "nodes", 1, kMostGpus) : 1;
    const std::int64_t ranks = table.whole(row, "ranks", nodes, kMostGpus);
    const std::int64_t micro_batches =
        table.has("accumulation") ? table.whole(row, "accumulation", 0, kMostGpus) + 1 : 1;
    const double rows = table.number(row, "global_batch", 1, kMostRows) / static_cast<double>(ranks * micro_batches);
    StepPoint at = placed(spread(ranks, nodes), rows);
    at.accumulation = static_cast<int>(micro_batches - 1);
    result.push_back({at, table.number(row, "step_s", kLeastSeconds, kLongestStep)});
  }
  return result;
}

}  // namespace multicard
