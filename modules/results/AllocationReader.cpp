#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "results/AllocationRecord.hpp"
#include "results/ResultsReader.hpp"
#include "results/Schema.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostRanks = 1 << 20;

[[noreturn]] void refuse(const Hdf5File& file, const std::string& why) {
  throw DataError(fmt::format("{}: {} is damaged", file.path(), schema::kAllocation), why);
}

template <class Value>
std::vector<Value> read_column(const Hdf5File& file, const std::string& path) {
  if constexpr (std::is_same_v<Value, std::string>)
    return file.read_texts(path);
  else
    return file.read_values<Value>(path);
}

/// The rows of a table, whose columns are equally long.
template <class Row>
std::vector<Row> read_rows(const Hdf5File& file, const std::string& table) {
  // The first column of every table is in all files, so that there are rows when the loop ends.
  std::optional<std::vector<Row>> rows;
  for_each_column<Row>([&]<class Value>(const RowColumn<Row, Value>& column) {
    const std::string path = fmt::format("{}/{}/{}", schema::kAllocation, table, column.name);
    if (column.since == Since::later && !file.exists(path)) return;
    const std::vector<Value> values = read_column<Value>(file, path);
    if (!rows) rows.emplace(values.size());
    if (rows->size() != values.size()) refuse(file, "its columns have different lengths");
    for (std::size_t i = 0; i < values.size(); ++i)
      (*rows)[i].*column.place = values[i];
  });
  return *rows;
}

bool is_time(double seconds) {
  return std::isfinite(seconds) && seconds >= 0;
}

/// The list names as many ranks as there are.
bool agrees_with_its_list(const AllocationInterval& interval) {
  std::int64_t number = 0;
  const std::vector<RankRun> runs = rank_runs(interval);
  for (const RankRun& run : runs)
    number += run.last - run.first + 1;
  return number == interval.ranks && runs.front().first == interval.first_rank;
}

bool is_possible(const AllocationInterval& interval) {
  return interval.first_rank >= 0 && interval.ranks > 0 && interval.ranks <= kMostRanks &&
         interval.first_rank <= kMostRanks && is_time(interval.start_s) && is_time(interval.end_s) &&
         interval.end_s >= interval.start_s && std::isfinite(interval.predicted_step_s) &&
         std::isfinite(interval.measured_step_s) && agrees_with_its_list(interval);
}

bool is_possible(const AllocationChange& change) {
  return is_time(change.time_s) && is_time(change.cost_s) && std::isfinite(change.predicted_gain) && change.from >= 0 &&
         change.to >= 0 && change.from <= kMostRanks && change.to <= kMostRanks;
}

bool is_possible(const AllocationPlacement& placement) {
  return is_time(placement.time_s) && is_time(placement.predicted_step_s);
}

bool is_possible(const AllocationBaseline& baseline) {
  return is_time(baseline.predicted_s) && is_time(baseline.low_s) && is_time(baseline.high_s);
}

/// \param name of a row in the message
template <class Row>
std::vector<Row> checked_rows(const Hdf5File& file, const std::string& table, const char* name) {
  std::vector<Row> rows = read_rows<Row>(file, table);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!is_possible(rows[i])) refuse(file, fmt::format("its {} {} cannot be", name, i));
  return rows;
}

}  // namespace

bool ResultsFile::has_allocation() const {
  return file_.exists(schema::kAllocation);
}

AllocationRecord ResultsFile::allocation() const {
  AllocationRecord record;
  const std::string root = schema::kAllocation;
  if (!has_allocation()) return record;
  // Checked before anything is drawn or added up: the seal proves that a file is as it was written, not by whom.
  record.intervals = checked_rows<AllocationInterval>(file_, "intervals", "interval");
  std::ranges::stable_sort(record.intervals, {}, &AllocationInterval::start_s);
  // Older files lack them.
  if (file_.exists(root + "/decisions"))
    record.changes = checked_rows<AllocationChange>(file_, "decisions", "decision");
  if (file_.exists(root + "/placements"))
    record.placements = checked_rows<AllocationPlacement>(file_, "placements", "placement");
  if (file_.exists(root + "/baselines"))
    record.baselines = checked_rows<AllocationBaseline>(file_, "baselines", "baseline");
  return record;
}

}  // namespace multicard
