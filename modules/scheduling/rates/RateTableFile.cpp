#include "scheduling/rates/RateTableFile.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/CsvTable.hpp"
#include "base/Log.hpp"
#include "base/NearPath.hpp"
#include "base/RegularFile.hpp"
#include "scheduling/rates/PublishedRows.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostGpus = 1'000'000;
constexpr double kLargest = 1e300;
constexpr std::array kColumns{"gpus", "nodes", "rate", "memory_gb", "rate_low", "rate_high"};

/// A column that looks like one of the layout and is not read would change the plan unnoticed.
void warn_of_unknown_columns(const CsvTable& csv) {
  for (const std::string& column : csv.columns())
    if (std::find(std::begin(kColumns), std::end(kColumns), column) == std::end(kColumns))
      log_warning(fmt::format("{}: column {} is not used (columns of a table of rates: {})", csv.path(), column,
                              fmt::join(kColumns, ", ")));
}

/// \throws DataError where the rate is not inside
std::optional<Interval> interval_of(const CsvTable& csv, std::size_t row, double rate) {
  if (!csv.has("rate_low") || !csv.has("rate_high")) return std::nullopt;
  if (csv.text(row, "rate_low").empty() && csv.text(row, "rate_high").empty()) return std::nullopt;
  const Interval interval{csv.number(row, "rate_low", 0, kLargest), csv.number(row, "rate_high", 0, kLargest)};
  if (interval.low > rate) throw csv.wrong(row, "rate_low", "above the rate");
  if (interval.high < rate) throw csv.wrong(row, "rate_high", "below the rate");
  // From 0 it would be infinitely wide, as a factor.
  return interval.low > 0 ? std::optional(interval) : std::nullopt;
}

std::vector<RateRow> own_rows(const CsvTable& csv) {
  warn_of_unknown_columns(csv);
  std::vector<RateRow> rows;
  for (std::size_t i = 0; i < csv.num_rows(); ++i) {
    RateRow row;
    row.gpus = static_cast<int>(csv.whole(i, "gpus", 1, kMostGpus));
    row.rate = csv.number(i, "rate", 0, kLargest);
    if (csv.has("nodes")) row.nodes = static_cast<int>(csv.whole(i, "nodes", 1, kMostGpus));
    if (csv.has("memory_gb")) row.memory_gb = csv.number(i, "memory_gb", 0, kLargest);
    row.interval = interval_of(csv, i, row.rate);
    if (row.nodes > row.gpus) throw csv.wrong(i, "nodes", "more than GPUs");
    rows.push_back(row);
  }
  return rows;
}

/// The digits of a placement, in any order.
RateSource source_of(const std::vector<int>& placement, const std::string& variant, PlacementUse placements) {
  const NodeCounts counts = normalised_counts(placement);
  const bool is_bound = placements == PlacementUse::bound && !counts.empty();
  return {counts_text(counts), variant, is_bound ? counts.front() : 0};
}

// Rates are in steps a second. Rows of plans that did not fit into memory have the time 0, and so no rate.
std::vector<RateRow> rubick_rows(const CsvTable& csv, PlacementUse placements) {
  std::vector<RateRow> rows;
  for (std::size_t i = 0; i < csv.num_rows(); ++i) {
    const RubickRow row = rubick_row(csv, i);
    const int nodes = placements == PlacementUse::bound ? static_cast<int>(row.placement.size()) : 0;
    rows.push_back({row.gpus, nodes, row.step_s > 0 ? 1 / row.step_s : 0});
    rows.back().source = source_of(row.placement, row.plan.empty() ? "" : "plan " + row.plan, placements);
  }
  return rows;
}

// A row for each global batch, a column for each number of GPUs, which is the column's name.
std::vector<RateRow> elasticflow_rows(const CsvTable& csv, std::optional<int> batch) {
  std::size_t row = 0;
  while (batch && row < csv.num_rows() && csv.whole(row, "global_batch_size", 1, kMostGpus) != *batch)
    ++row;
  if (row == csv.num_rows())
    throw DataError(fmt::format("{} has no row of global batch {}", csv.path(), batch.value_or(0)), "",
                    "Set batch to one of the column global_batch_size.");
  std::vector<RateRow> rows;
  for (const std::string& column : csv.columns()) {
    if (column == "global_batch_size") continue;
    const int gpus = static_cast<int>(csv.whole_name(column, 1, kMostGpus));
    rows.push_back({gpus, 0, csv.number(row, column, 0, kLargest), 0});
  }
  return rows;
}

std::vector<RateRow> pollux_rows(const CsvTable& csv, PlacementUse placements) {
  std::vector<RateRow> rows;
  for (std::size_t i = 0; i < csv.num_rows(); ++i) {
    const PolluxRow row = pollux_row(csv, i, 0, NodesColumn::optional);
    const int nodes = placements == PlacementUse::bound ? row.nodes : 0;
    rows.push_back(
        {row.gpus, nodes, row.step_s > 0 ? row.gpus * static_cast<double>(row.local_batch) / row.step_s : 0});
    rows.back().source = source_of(row.placement, fmt::format("local batch {}", row.local_batch), placements);
  }
  return rows;
}

std::vector<RateRow> rows_of(const std::string& path, TableLayout layout, std::optional<int> batch,
                             PlacementUse placements) {
  if (layout == TableLayout::pollux && is_folder(path)) {
    std::vector<RateRow> rows = pollux_rows(CsvTable(path + "/placements.csv"), placements);
    const std::vector<RateRow> more = pollux_rows(CsvTable(path + "/scalability.csv"), placements);
    rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  }
  const CsvTable csv(path);
  if (csv.num_rows() == 0) throw DataError(fmt::format("{} has no rows", path));
  switch (layout) {
    case TableLayout::multicard:
      return own_rows(csv);
    case TableLayout::rubick:
      return rubick_rows(csv, placements);
    case TableLayout::elasticflow:
      return elasticflow_rows(csv, batch);
    case TableLayout::pollux:
      break;
  }
  return pollux_rows(csv, placements);
}

}  // namespace

RateTable read_rate_table(const std::string& path, TableLayout layout, std::optional<int> batch,
                          PlacementUse placements) {
  if (!is_there(path)) throw DataError(fmt::format("{} does not exist", path), "", did_you_mean(path, ""));
  return RateTable(rows_of(path, layout, batch, placements));
}

}  // namespace multicard
