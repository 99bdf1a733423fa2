#include "scheduling/replay/Convergence.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "base/CsvTable.hpp"
#include "base/Number.hpp"

namespace multicard {

namespace {

/// BATCH of "validation-BATCH.csv".
std::optional<int> batch_of(std::string name) {
  constexpr std::string_view prefix = "validation-", suffix = ".csv";
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
  name = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  const std::optional<int> batch = parse_number<int>(name);
  return batch && *batch > 0 ? batch : std::nullopt;
}

}  // namespace

Convergence::Convergence(const std::string& folder, int num_epochs) : num_epochs_(num_epochs) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::optional<int> batch = batch_of(entry.path().filename().string());
    if (!batch) continue;
    const CsvTable table(entry.path().string());
    if (table.num_rows() < static_cast<std::size_t>(num_epochs))
      throw DataError(fmt::format("{} has {} rows", table.path(), table.num_rows()),
                      fmt::format("its jobs train {} epochs", num_epochs), "One row is one epoch.");
    std::vector<Row>& rows = runs_[*batch];
    for (std::size_t row = 0; row < table.num_rows(); ++row)
      rows.push_back({table.number(row, "progress", 0, 1e15),
                      table.number(row, "iteration", 0, 1e15),
                      {table.number(row, "grad_sqr", 0, 1e300), table.number(row, "grad_var", 0, 1e300)}});
  }
  if (error) throw DataError(folder + " cannot be read", error.message());
  if (runs_.empty()) throw DataError(folder + " has no validation-BATCH.csv", "", "Name the folder of an application.");
  progress_.push_back(0);
  for (int epoch = 0; epoch < num_epochs; ++epoch) {
    // A job may change its batch during an epoch, so an epoch must end at one progress for all batches.
    double least = runs_.begin()->second[static_cast<std::size_t>(epoch)].progress;
    for (const auto& [batch, rows] : runs_)
      least = std::min(least, rows[static_cast<std::size_t>(epoch)].progress);
    progress_.push_back(least);
  }
}

double Convergence::progress_at(int epoch) const {
  return progress_[static_cast<std::size_t>(epoch)];
}

template <class F>
double Convergence::between(int batch, int epoch, F value) const {
  const auto row = static_cast<std::size_t>(epoch);
  // Both neighbours exist: batches stay between the smallest and the largest one (BatchLimits).
  const auto above = runs_.lower_bound(batch);
  if (above->first == batch) return value(above->second[row]);
  const auto below = std::prev(above);
  const double low = value(below->second[row]), high = value(above->second[row]);
  return ((batch - below->first) * high + (above->first - batch) * low) / (above->first - below->first);
}

GradientNoise Convergence::noise(int batch, int epoch) const {
  return {between(batch, epoch, [](const Row& row) { return row.noise.square; }),
          between(batch, epoch, [](const Row& row) { return row.noise.variance; })};
}

double Convergence::updates_after(int batch, int epoch) const {
  return between(batch, epoch, [](const Row& row) { return row.updates; });
}

}  // namespace multicard
