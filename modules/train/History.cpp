#include "train/History.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace multicard {

namespace {

/// What a column of a run read from a file holds of one rank.
template <class T>
std::vector<T> of_rank(const RankMatrix<T>& matrix, std::size_t rank) {
  const std::span<const T> row = matrix.row(rank);
  return {row.begin(), row.end()};
}
template <class T>
T of_rank(const std::vector<T>& values, std::size_t rank) {
  return values[rank];
}

/// Takes column `name` out of `times`; what the file lacks was not measured.
std::vector<double> taken(std::map<std::string, std::vector<double>>& times, const char* name, std::size_t num_steps) {
  const auto found = times.extract(name);
  if (found.empty()) return std::vector<double>(num_steps, std::numeric_limits<double>::quiet_NaN());
  return std::move(found.mapped());
}

/// Rows of a matrix have the length of the longest: leaves out the samples that the rank has not taken, which are
/// unknown in all columns.
void trim_samples(std::map<std::string, std::vector<double>>& columns) {
  const auto is_open = [&] {
    return !columns.empty() && !columns.begin()->second.empty() &&
           std::ranges::all_of(columns, [](const auto& column) { return std::isnan(column.second.back()); });
  };
  while (is_open())
    for (auto& [name, values] : columns)
      values.pop_back();
}

/// Row `rank` of a run read from a file, as it was recorded.
RankRecord row_of(const RunData& run, std::size_t rank) {
  RankRecord record;
  record.clock = run.clock;
  record.first_step = run.first_step;
  for_each_group(
      [&](auto /*group*/, const auto& columns, auto& mine) {
        for (const auto& [name, values] : columns)
          mine[name] = of_rank(values, rank);
      },
      run, record);
  trim_samples(record.resources);
  // In a file `samples` is one count among others; in a record it has a member of its own, as the step times do.
  if (const auto samples = record.counts.extract("samples"); !samples.empty())
    record.samples = std::move(samples.mapped());
  record.steps.resize(run.num_steps);
  const auto put = [&](const char* name, auto&& place_in) {
    const std::vector<double> seconds = taken(record.extra_times, name, run.num_steps);
    for (std::size_t step = 0; step < run.num_steps; ++step)
      place_in(record.steps[step]) = seconds[step];
  };
  put("step", [](StepTimes& times) -> double& { return times.step; });
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase)
    put(kPhaseNames[phase], [&](StepTimes& times) -> double& { return times.phases[phase]; });
  return record;
}

}  // namespace

History history_of(const RunData& run) {
  History history;
  history.metrics = run.summary.metrics;
  history.segments = run.summary.segments;
  history.first_step = run.first_step;
  history.num_steps = static_cast<std::int64_t>(run.num_steps);
  history.num_ranks = run.ranks;
  if (run.num_steps == 0) return history;
  for (int row = 0; row < run.ranks; ++row)
    history.rows[row] = row_of(run, static_cast<std::size_t>(row));
  for (const auto& [path, table] : run.summary.tables)
    if (is_of_ranks(table))
      for (auto& [row, of_rank] : tables_by_rank(table))
        history.rows[row].tables[path] = std::move(of_rank);
  return history;
}

History part_of(const History& whole, int rank, int num_ranks) {
  History part;
  part.metrics = whole.metrics;
  part.segments = whole.segments;
  part.first_step = whole.first_step;
  part.num_steps = whole.num_steps;
  part.num_ranks = whole.num_ranks;
  for (const auto& [row, record] : whole.rows)
    // After a move to fewer ranks some rank must carry the rows of those that are gone: the last.
    if (row == rank || (row >= num_ranks && rank == num_ranks - 1)) part.rows[row] = record;
  return part;
}

RankRows continue_rows(const History& history, const RankRecord& since, int rank) {
  // Every row ends with all steps of the run: a new rank's begins with absent ones, one that is gone ends with them.
  const auto before = static_cast<std::size_t>(history.num_steps);
  const std::size_t after = before + since.steps.size();
  RankRows rows = history.rows;
  RankRecord& mine = rows[rank];
  mine.clock = since.clock;
  mine.first_step = history.num_steps > 0 ? history.first_step : since.first_step;
  continue_record(mine, since, before);
  for (auto& [row, record] : rows)
    append_absent(record, after);
  return rows;
}

}  // namespace multicard
