#include "train/History.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace multicard {

namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

bool is_phase(const std::string& column) {
  return column == "step" || std::find(kPhaseNames.begin(), kPhaseNames.end(), column) != kPhaseNames.end();
}

template <class T>
std::vector<T> vector_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

/// Of a column that the file need not have: what it lacks was not measured.
double time_of(const RunData& run, const char* column, std::size_t rank, std::size_t step) {
  const auto found = run.times.find(column);
  return found == run.times.end() ? kAbsent : found->second.at(rank, step);
}

/// Row `rank` of a run read from a file, as it was recorded.
RankRecord row_of(const RunData& run, std::size_t rank) {
  RankRecord record;
  record.clock = run.clock;
  record.first_step = run.first_step;
  record.steps.resize(run.num_steps);
  for (std::size_t step = 0; step < run.num_steps; ++step) {
    record.steps[step].step = time_of(run, "step", rank, step);
    for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase)
      record.steps[step].phases[phase] = time_of(run, kPhaseNames[phase], rank, step);
  }
  for (const auto& [name, times] : run.times)
    if (!is_phase(name)) record.extra_times[name] = vector_of(times.row(rank));
  for (const auto& [name, counts] : run.counts)
    (name == "samples" ? record.samples : record.counts[name]) = vector_of(counts.row(rank));
  for (const auto& [name, epochs] : run.epochs)
    record.epochs[name] = vector_of(epochs.row(rank));
  for (const auto& [name, values] : run.transfers)
    record.transfers[name] = values[rank];
  for (const auto& [kind, columns] : run.communication)
    record.communication[kind] = {columns.calls[rank], columns.payload_bytes[rank], columns.bus_bytes[rank],
                                  columns.seconds_total[rank], columns.seconds_exposed[rank]};
  for (const auto& [name, values] : run.memory)
    record.memory[name] = values[rank];
  return record;
}

void append_absent(RankRecord& record, std::size_t num_steps) {
  record.steps.resize(num_steps, absent_step());
  record.samples.resize(num_steps, 0);
  for (auto& [name, values] : record.counts)
    values.resize(num_steps, 0);
  for (auto& [name, values] : record.extra_times)
    values.resize(num_steps, kAbsent);
}

/// Appends columns of later steps to columns of `before` steps; a column that is new there was not measured before.
template <class T>
void append_columns(std::map<std::string, std::vector<T>>& columns, const std::map<std::string, std::vector<T>>& since,
                    std::size_t before, T absent) {
  for (const auto& [name, values] : since) {
    std::vector<T>& column = columns[name];
    column.resize(before, absent);
    column.insert(column.end(), values.begin(), values.end());
  }
}

/// Adds the totals of a later part: sums, but peaks of memory.
void add_totals(RankRecord& record, const RankRecord& since) {
  for (const auto& [name, epochs] : since.epochs) {
    std::vector<double>& sum = record.epochs[name];
    sum.resize(std::max(sum.size(), epochs.size()), kAbsent);
    for (std::size_t i = 0; i < epochs.size(); ++i)
      if (!std::isnan(epochs[i])) sum[i] = std::isnan(sum[i]) ? epochs[i] : sum[i] + epochs[i];
  }
  for (const auto& [name, bytes] : since.transfers)
    record.transfers[name] += bytes;
  for (const auto& [name, bytes] : since.memory)
    record.memory[name] = std::max(record.memory[name], bytes);
  for (const auto& [kind, totals] : since.communication) {
    CommunicationTotals& sum = record.communication[kind];
    sum.calls += totals.calls;
    sum.payload_bytes += totals.payload_bytes;
    sum.bus_bytes += totals.bus_bytes;
    sum.seconds_total += totals.seconds_total;
    sum.seconds_exposed += totals.seconds_exposed;
  }
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
    if (row == rank || (row >= num_ranks && rank == num_ranks - 1)) part.rows[row] = record;
  return part;
}

RankRows continue_rows(const History& history, const RankRecord& since, int rank) {
  const auto before = static_cast<std::size_t>(history.num_steps);
  const std::size_t after = before + since.steps.size();
  RankRows rows = history.rows;
  RankRecord& mine = rows[rank];
  mine.clock = since.clock;
  mine.first_step = history.num_steps > 0 ? history.first_step : since.first_step;
  append_absent(mine, before);
  mine.steps.insert(mine.steps.end(), since.steps.begin(), since.steps.end());
  mine.samples.insert(mine.samples.end(), since.samples.begin(), since.samples.end());
  append_columns(mine.counts, since.counts, before, std::int64_t{0});
  append_columns(mine.extra_times, since.extra_times, before, kAbsent);
  add_totals(mine, since);
  for (auto& [row, record] : rows)
    append_absent(record, after);
  return rows;
}

}  // namespace multicard
