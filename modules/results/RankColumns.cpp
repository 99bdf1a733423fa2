#include "results/RankColumns.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"

namespace multicard {

namespace {

constexpr char kField = '\t';

void add_step_times(RankColumns& columns, const RankRecord& record) {
  std::vector<double> times(record.steps.size());
  const auto column = [&](auto&& time_of) {
    std::transform(record.steps.begin(), record.steps.end(), times.begin(), time_of);
    return times;
  };
  columns["steps/step"] = column([](const StepTimes& step) { return step.step; });
  for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase)
    columns[fmt::format("steps/{}", kPhaseNames[phase])] =
        column([&](const StepTimes& step) { return step.phases[phase]; });
}

template <class Value>
void add_column(RankColumns& columns, const std::string& path, const Value& value) {
  columns[path] = value;
}
/// Columns of a row are datasets of a group.
void add_column(RankColumns& columns, const std::string& path, const CommunicationTotals& totals) {
  for_each_column<CommunicationTotals>(
      [&](const auto& column) { columns[fmt::format("{}/{}", path, column.name)] = totals.*column.place; });
}

std::uint64_t length_of(const ColumnValue& value) {
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) return integers->size();
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) return reals->size();
  return 1;
}

/// Row, clock and first step, then each column's path, kind and length: what the other ranks need to know.
std::string describe(int row, const RankRecord& record) {
  // Paths of columns have a slash, the head of a row has none: by that the reader knows them apart.
  std::string text = fmt::format("{}\t{}\t{}\n", row, record.clock, record.first_step);
  for (const auto& [path, value] : to_columns(record)) {
    const std::uint64_t length = length_of(value);
    if (path.starts_with("steps/") && length != record.steps.size())
      throw CommunicationError(fmt::format("the records of row {} contradict themselves", row),
                               fmt::format("{} values of {} for {} steps", length, path, record.steps.size()));
    text += fmt::format("{}\t{}\t{}\n", path, value.index(), length);
  }
  return text;
}

void add_column(RunLayout& layout, const std::string& path, std::size_t kind, std::uint64_t length) {
  const auto [found, is_new] = layout.columns.emplace(path, ColumnLayout{kind, length, 0});
  ColumnLayout& column = found->second;
  if (column.kind != kind) throw CommunicationError(fmt::format("ranks recorded {} as different things", path));
  if (column.length != length && path.starts_with("steps/"))
    throw CommunicationError("ranks recorded different numbers of steps",
                             fmt::format("{} and {} values of {}", column.length, length, path));
  // A longer row than any before: all of them are short now, so the count begins again.
  if (length > column.length) column = {kind, length, 0};
  if (length == column.length) ++column.num_full;
}

/// Takes one row's description into the layout.
void add_row(RunLayout& layout, std::set<std::string>& rows, const std::vector<std::string>& head) {
  const std::string& clock = head.at(1);
  const std::int64_t first_step = std::stoll(head.at(2));
  if (!rows.insert(head.at(0)).second)
    throw CommunicationError(fmt::format("two ranks recorded the same row {}", head.at(0)));
  if (layout.clock.empty()) {
    layout.clock = clock;
    layout.first_step = first_step;
  }
  // Times of the host's clock and of the GPU's must not stand in one dataset: a phase means another thing in each.
  if (clock != layout.clock)
    throw CommunicationError("ranks recorded times with different clocks", clock + " and " + layout.clock);
  if (first_step != layout.first_step)
    throw CommunicationError("ranks recorded different first steps",
                             fmt::format("{} and {}", first_step, layout.first_step));
  layout.num_ranks = std::max(layout.num_ranks, static_cast<std::uint64_t>(std::stoll(head.at(0))) + 1);
}

}  // namespace

RankColumns to_columns(const RankRecord& record) {
  RankColumns columns;
  add_step_times(columns, record);
  columns["steps/samples"] = record.samples;
  for_each_group(
      [&](auto group, const auto& named) {
        for (const auto& [name, value] : named)
          add_column(columns, fmt::format("{}/{}", group.path, name), value);
      },
      record);
  return columns;
}

RunLayout agree_on_layout(const Communicator& communicator, const std::map<int, RankRecord>& rows) {
  const std::string mine = agreed(communicator, [&] {
    std::string text;
    for (const auto& [row, record] : rows)
      text += describe(row, record);
    return text;
  });
  // Descriptions only, some kilobytes a rank; the values stay where they are and are written from there.
  const std::vector<std::string> all = communicator.allgather(mine);
  // Every rank judges the same texts, so that all throw alike.
  return agreed(communicator, [&] {
    RunLayout layout;
    std::set<std::string> seen;
    for (const std::string& line : split(join(all, ""), '\n')) {
      if (line.empty()) continue;
      const std::vector<std::string> fields = split(line, kField);
      if (fields.front().find('/') == std::string::npos)
        add_row(layout, seen, fields);
      else
        add_column(layout, fields.at(0), std::stoul(fields.at(1)), std::stoull(fields.at(2)));
    }
    return layout;
  });
}

}  // namespace multicard
