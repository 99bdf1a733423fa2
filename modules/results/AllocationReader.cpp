#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "results/ResultsReader.hpp"
#include "results/Schema.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostRanks = 1 << 20;

/// The columns of one table, which are equally long.
class Columns {
 public:
  Columns(const Hdf5File& file, const std::string& table)
      : file_(file), group_(fmt::format("{}/{}/", schema::kAllocation, table)) {}

  std::size_t size() const { return size_.value_or(0); }
  std::vector<std::string> texts(const char* name) { return checked(file_.read_texts(group_ + name)); }
  template <class T>
  std::vector<T> values(const char* name) {
    return checked(file_.read_values<T>(group_ + name));
  }
  /// Zeros where an older file lacks the column.
  std::vector<double> values_if_there(const char* name) {
    return file_.exists(group_ + name) ? values<double>(name) : std::vector<double>(size());
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw DataError(fmt::format("{}: {} is damaged", file_.path(), schema::kAllocation), why);
  }

 private:
  template <class Column>
  Column checked(Column column) {
    if (size_.value_or(column.size()) != column.size()) refuse("its columns have different lengths");
    size_ = column.size();
    return column;
  }

  const Hdf5File& file_;
  std::string group_;
  std::optional<std::size_t> size_;
};

bool is_time(double seconds) {
  return std::isfinite(seconds) && seconds >= 0;
}

bool is_possible(const AllocationInterval& interval) {
  return interval.first_rank >= 0 && interval.ranks > 0 && interval.ranks <= kMostRanks &&
         interval.first_rank <= kMostRanks && is_time(interval.start_s) && is_time(interval.end_s) &&
         interval.end_s >= interval.start_s && std::isfinite(interval.predicted_step_s) &&
         std::isfinite(interval.measured_step_s);
}

bool is_possible(const AllocationChange& change) {
  return is_time(change.time_s) && is_time(change.cost_s) && std::isfinite(change.predicted_gain) && change.from >= 0 &&
         change.to >= 0 && change.from <= kMostRanks && change.to <= kMostRanks;
}

bool is_possible(const AllocationBaseline& baseline) {
  return is_time(baseline.predicted_s) && is_time(baseline.low_s) && is_time(baseline.high_s);
}

template <class Row>
void check(const Columns& columns, const std::vector<Row>& rows, const char* name) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!is_possible(rows[i])) columns.refuse(fmt::format("its {} {} cannot be", name, i));
}

std::vector<AllocationInterval> read_intervals(const Hdf5File& file) {
  Columns columns(file, "intervals");
  const auto tasks = columns.texts("task");
  const auto first_ranks = columns.values<std::int64_t>("first_rank"), ranks = columns.values<std::int64_t>("ranks");
  const auto starts = columns.values<double>("start_s"), ends = columns.values<double>("end_s");
  const auto predicted = columns.values_if_there("predicted_step_s");
  const auto measured = columns.values_if_there("measured_step_s");
  std::vector<AllocationInterval> found;
  for (std::size_t i = 0; i < columns.size(); ++i)
    found.push_back({tasks[i], first_ranks[i], ranks[i], starts[i], ends[i], predicted[i], measured[i]});
  check(columns, found, "interval");
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  return found;
}

std::vector<AllocationChange> read_changes(const Hdf5File& file) {
  Columns columns(file, "decisions");
  const auto times = columns.values<double>("time_s"), gains = columns.values<double>("predicted_gain");
  const auto costs = columns.values<double>("cost_s");
  const auto tasks = columns.texts("task"), reasons = columns.texts("reason");
  const auto from = columns.values<std::int64_t>("from"), to = columns.values<std::int64_t>("to");
  std::vector<AllocationChange> found;
  for (std::size_t i = 0; i < columns.size(); ++i)
    found.push_back({times[i], tasks[i], from[i], to[i], gains[i], costs[i], reasons[i]});
  check(columns, found, "decision");
  return found;
}

std::vector<AllocationBaseline> read_baselines(const Hdf5File& file) {
  Columns columns(file, "baselines");
  const auto policies = columns.texts("policy"), reasons = columns.texts("reason");
  const auto predicted = columns.values<double>("predicted_s");
  const auto low = columns.values<double>("low_s"), high = columns.values<double>("high_s");
  std::vector<AllocationBaseline> found;
  for (std::size_t i = 0; i < columns.size(); ++i)
    found.push_back({policies[i], predicted[i], low[i], high[i], reasons[i]});
  check(columns, found, "baseline");
  return found;
}

}  // namespace

bool ResultsFile::has_allocation() const {
  return file_.exists(schema::kAllocation);
}

AllocationRecord ResultsFile::allocation() const {
  AllocationRecord record;
  const std::string root = schema::kAllocation;
  if (!has_allocation()) return record;
  record.intervals = read_intervals(file_);
  // Older files lack them.
  if (file_.exists(root + "/decisions")) record.changes = read_changes(file_);
  if (file_.exists(root + "/baselines")) record.baselines = read_baselines(file_);
  return record;
}

}  // namespace multicard
