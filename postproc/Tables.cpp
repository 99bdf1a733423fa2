#include "postproc/Tables.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/BeforeAfter.hpp"
#include "postproc/Evaluation.hpp"
#include "postproc/Labels.hpp"
#include "postproc/Learning.hpp"

namespace multicard::post {

namespace {

using Rows = std::vector<std::vector<std::string>>;

/// Characters a terminal shows: UTF-8 continuation bytes take no place.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// The first column to the left, the others to the right.
std::string aligned(const Rows& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], width_of(row[column]));
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      const std::string padding(widths[column] - width_of(row[column]), ' ');
      line += column == 0 ? row[column] + padding : "  " + padding + row[column];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Why runs did not complete, and the names of those runs.
std::map<std::string, std::vector<std::string>> unfinished(const Study& study) {
  constexpr std::size_t kMostNames = 6;
  std::map<std::string, std::vector<std::string>> out;
  for (const RunReport& run : study.runs) {
    if (run.status == "complete") continue;
    auto& names = out[run.error.empty() ? run.status : run.status + ": " + first_line(run.error)];
    if (names.size() < kMostNames)
      names.push_back(run.name);
    else
      names.back() = "…";
  }
  return out;
}

std::vector<std::string> terminal_row(const Study& study, const Cell& cell) {
  std::vector<std::string> row{
      study.configurations[cell.configuration].full_label(),
      std::to_string(cell.ranks),
      with_interval(cell.rate),
      with_interval(cell.speedup, 3),
      with_interval(cell.efficiency, 3),
      percent(cell.exposed_share),
      percent(cell.data_wait_share),
      fmt::format("{}/{}", cell.status == CellStatus::complete ? cell.measured.size() : 0, cell.runs.size())};
  if (const auto score = learning_score(study)) row.push_back(with_interval(cell.*score->member));
  return row;
}

}  // namespace

std::string interval_note(const Study& study) {
  bool steps = false, repeats = false, none = false;
  for (const Cell& cell : study.cells) {
    if (!cell.rate.known()) continue;
    steps = steps || cell.rate.basis == Basis::steps;
    repeats = repeats || cell.rate.basis == Basis::repeats;
    none = none || cell.rate.basis == Basis::none;
  }
  std::vector<std::string> parts;
  if (repeats) parts.emplace_back("in parentheses the 95 % interval over repeats");
  if (steps)
    parts.emplace_back(repeats
                           ? "with one repeat over the steps of that run"
                           : "in parentheses the 95 % interval over the steps of one run, which leaves out how runs "
                             "differ");
  if (none) parts.emplace_back("no interval under 6 measured steps");
  return join(parts, "; ");
}

namespace {

/// What tuning changed, of the first runs.
std::string changes_of(const Study& study) {
  constexpr std::size_t kMostRuns = 4;
  const std::vector<TunedRun> tuned = tuned_runs(study);
  std::string out;
  for (std::size_t i = 0; i < std::min(tuned.size(), kMostRuns); ++i) {
    Rows rows{{tuned[i].heading.empty() ? "what tuning changed" : tuned[i].heading, "before", "after", "change"}};
    for (const ChangeLine& line : change_lines(*tuned[i].run->tuning))
      rows.push_back({line.measure, line.before, line.after, line.change});
    if (rows.size() > 1) out += "\n" + aligned(rows);
  }
  if (tuned.size() > kMostRuns)
    out += fmt::format("what tuning changed in {}: see the report\n",
                       counted(static_cast<long>(tuned.size() - kMostRuns), "more run"));
  return out;
}

std::string table_of(const Study& study) {
  Rows rows{{"configuration", "ranks", study.rate_unit() + " (95 %)", "speedup", "efficiency", "exposed", "data wait",
             "repeats"}};
  if (const auto score = learning_score(study)) rows.front().emplace_back(score->name);
  for (const Cell& cell : study.cells)
    rows.push_back(terminal_row(study, cell));
  std::string out = aligned(rows);
  for (const auto& [reason, names] : unfinished(study))
    out += fmt::format("{}: {}\n", join(names, ", "), reason);
  const std::string note = interval_note(study);
  return (note.empty() ? out : out + note + "\n") + changes_of(study);
}

}  // namespace

std::string terminal_table(const Collection& collection) {
  std::string out;
  for (const Study& study : collection.studies) {
    if (!study.id.empty()) out += fmt::format("{}{}: {}\n", out.empty() ? "" : "\n", study.id, study.title());
    out += table_of(study);
  }
  for (const RunReport& run : collection.evaluated)
    out += fmt::format("{}: {}\n", evaluation_name(run), score_sentence(*run.evaluation));
  return out;
}

}  // namespace multicard::post
