#include "scheduling/rates/StepTimeTable.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "scheduling/rates/PublishedRows.hpp"

namespace multicard {

namespace {

constexpr int kMostNodes = 16;  // that the tables reach
constexpr int kLargestCount = 1 << 24;

constexpr double kShortestStep = std::numeric_limits<double>::min();

StepTime time_of(const CsvTable& table, std::size_t row, double step_s) {
  return {step_s, table.number(row, "sync_time", 0, step_s)};
}

}  // namespace

int num_gpus(const GpuPlacement& placement) {
  return std::accumulate(placement.begin(), placement.end(), 0);
}

// An all-reduce runs along a ring of nodes, which has no beginning: rotations of a placement are the same placement,
// and the first one in lexicographic order stands for all.
GpuPlacement normalised(const GpuPlacement& placement) {
  GpuPlacement ring;
  std::copy_if(placement.begin(), placement.end(), std::back_inserter(ring), [](int gpus) { return gpus > 0; });
  GpuPlacement best = ring;
  for (std::size_t i = 1; i < ring.size(); ++i) {
    std::rotate(ring.begin(), ring.begin() + 1, ring.end());
    best = std::min(best, ring);
  }
  return best;
}

GpuPlacement dense_placement(int gpus, int gpus_per_node) {
  GpuPlacement placement;
  for (; gpus > 0; gpus -= placement.back())
    placement.push_back(std::min(gpus, gpus_per_node));
  return placement;
}

StepTimeTable::StepTimeTable(const std::string& folder) {
  read_placements(folder + "/placements.csv");
  const CsvTable table(folder + "/scalability.csv");
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const PolluxRow measured = pollux_row(table, row, kShortestStep);
    const StepTime time = time_of(table, row, measured.step_s);
    most_gpus_ = std::max(most_gpus_, measured.gpus);
    points_.push_back({static_cast<double>(measured.nodes), static_cast<double>(measured.gpus),
                       static_cast<double>(measured.local_batch)});
    values_.push_back({time.step, time.sync});
  }
  between_ = std::make_unique<LinearInterpolation>(points_, values_);
}

void StepTimeTable::read_placements(const std::string& path) {
  struct Sum {
    double step = 0, sync = 0;
    int count = 0;
  };
  const CsvTable table(path);
  std::map<std::array<int, 3>, Sum> sums;  // by nodes, GPUs and batch size: the order matters to the triangulation
  smallest_batch_ = kLargestCount;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (!table.has("placement")) throw DataError(path + " has no column placement");
    const PolluxRow measured = pollux_row(table, row, kShortestStep);
    const GpuPlacement placement = normalised(measured.placement);
    const int batch = measured.local_batch;
    const StepTime time = time_of(table, row, measured.step_s);
    measured_[placement][batch] = time;
    Sum& sum = sums[{static_cast<int>(placement.size()), num_gpus(placement), batch}];
    sum.step += time.step;
    sum.sync += time.sync;
    ++sum.count;
    smallest_batch_ = std::min(smallest_batch_, batch);
    largest_batch_ = std::max(largest_batch_, batch);
    most_gpus_ = std::max(most_gpus_, num_gpus(placement));
  }
  if (sums.empty()) throw DataError(path + " has no rows", "", "Each row is a placement that was measured.");
  for (const auto& [place, sum] : sums) {
    points_.push_back({static_cast<double>(place[0]), static_cast<double>(place[1]), static_cast<double>(place[2])});
    values_.push_back({sum.step / sum.count, sum.sync / sum.count});
  }
}

std::optional<StepTime> StepTimeTable::at(const GpuPlacement& placement, int local_batch) const {
  std::pair<GpuPlacement, int> key(normalised(placement), local_batch);
  // A replay asks for the same steps again and again.
  const auto found = kept_.find(key);
  if (found != kept_.end()) return found->second;
  const std::optional<StepTime> time = compute(key.first, local_batch);
  kept_.emplace(std::move(key), time);
  return time;
}

std::optional<StepTime> StepTimeTable::compute(const GpuPlacement& ring, int local_batch) const {
  // A placement that was measured is interpolated over batches alone; others over nodes, GPUs and batches.
  const auto found = measured_.find(ring);
  if (found == measured_.end()) {
    const double nodes = std::min(static_cast<int>(ring.size()), kMostNodes);
    const auto values = between_->at({nodes, static_cast<double>(num_gpus(ring)), static_cast<double>(local_batch)});
    return values ? std::optional(StepTime{(*values)[0], (*values)[1]}) : std::nullopt;
  }
  const ByBatch& by_batch = found->second;
  const auto above = by_batch.lower_bound(local_batch);
  if (above == by_batch.end()) return std::nullopt;
  if (above->first == local_batch) return above->second;
  if (above == by_batch.begin()) return std::nullopt;
  const auto below = std::prev(above);
  const double part = static_cast<double>(local_batch - below->first) / (above->first - below->first);
  return StepTime{below->second.step + part * (above->second.step - below->second.step),
                  below->second.sync + part * (above->second.sync - below->second.sync)};
}

}  // namespace multicard
