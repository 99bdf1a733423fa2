#include "postproc/page/Tables.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/page/TextTable.hpp"
#include "postproc/study/BeforeAfter.hpp"
#include "postproc/study/Evaluation.hpp"
#include "postproc/study/ShareAnswer.hpp"

namespace multicard::post {

namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// Why runs did not complete, and the names of those runs.
std::map<std::string, std::vector<std::string>> unfinished(const Study& study) {
  // Of one reason; more are cut off by an ellipsis.
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

}  // namespace

std::string interval_note(const Study& study) {
  // Cells may differ: the note says what each kind of interval covers that occurs.
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
                           : "in parentheses the 95 % interval over the steps of one run, which excludes run-to-run "
                             "variation");
  if (none) parts.emplace_back("no interval under 6 measured steps");
  return join(parts, "; ");
}

namespace {

/// What tuning changed, of the first runs.
std::string changes_of(const Study& study, std::optional<std::size_t> columns) {
  // The terminal shows the first; the page has all.
  constexpr std::size_t kMostRuns = 4;
  const std::vector<TunedRun> tuned = tuned_runs(study);
  std::string out;
  for (std::size_t i = 0; i < std::min(tuned.size(), kMostRuns); ++i) {
    TextTable table;
    table.rows.push_back(
        {tuned[i].heading.empty() ? "what tuning changed" : tuned[i].heading, "before", "after", "change"});
    for (const ChangeLine& line : change_lines(*tuned[i].run->tuning))
      table.rows.push_back({line.measure, line.before, line.after, line.change});
    if (table.rows.size() > 1) out += "\n" + aligned(table, columns);
  }
  if (tuned.size() > kMostRuns)
    out += fmt::format("what tuning changed in {}: see the report\n",
                       counted(static_cast<long>(tuned.size() - kMostRuns), "more run"));
  return out;
}

/// On a narrow terminal speedup and efficiency have no intervals, and the columns that matter least go first.
TextTable cells_of(const Study& study) {
  const Columns<Cell> columns = cell_columns(study);
  const TextTable::Row head = labels_in(kTerminal, columns);
  TextTable table{{head}, {head}, {}};
  for (const Cell& cell : study.cells) {
    Cell without_intervals = cell;
    without_intervals.speedup.interval.reset();
    without_intervals.efficiency.interval.reset();
    table.rows.push_back(texts_in(kTerminal, columns, cell));
    table.short_rows.push_back(texts_in(kTerminal, columns, without_intervals));
  }
  for (const char* name : {"data wait", "exposed", "repeats", "efficiency"}) {
    const auto found = std::ranges::find(head, name);
    if (found == head.end()) throw std::logic_error(fmt::format("no column of the terminal is named {}", name));
    table.expendable.push_back(static_cast<std::size_t>(found - head.begin()));
  }
  return table;
}

std::string table_of(const Study& study, std::optional<std::size_t> columns) {
  const auto fitted = [&](const std::string& line) { return columns ? wrapped(line, *columns, 2) : line; };
  std::string out = aligned(cells_of(study), columns);
  const auto add_all = [&](Severity severity) {
    for (const Finding& finding : study.answers)
      if (finding.severity == severity) out += fitted(finding.text) + "\n";
  };
  // The results of tuning methods take many lines and follow the notices.
  const bool is_of_methods = study.kind == StudyKind::methods;
  if (!is_of_methods) out += fitted(study.answers.front().sentence()) + "\n";
  for (const auto& [reason, names] : unfinished(study))
    out += fitted(fmt::format("{}: {}", join(names, ", "), reason)) + "\n";
  add_all(Severity::notice);
  if (is_of_methods) add_all(Severity::result);
  for (const Finding& finding : study.findings)
    out += fitted(finding.text) + "\n";
  const std::string note = interval_note(study);
  return (note.empty() ? out : out + fitted(note) + "\n") + changes_of(study, columns);
}

}  // namespace

std::string terminal_table(const Collection& collection, std::optional<std::size_t> columns) {
  std::string out;
  for (const Source& source : collection.sources)
    if (const Finding share = share_finding(source.allocation); !share.empty())
      out += (columns ? wrapped(share.text, *columns, 2) : share.text) + "\n";
  for (const Study& study : collection.studies) {
    if (!study.id.empty()) out += fmt::format("{}{}: {}\n", out.empty() ? "" : "\n", study.id, study.title());
    out += table_of(study, columns);
  }
  for (const RunReport& run : collection.evaluated)
    out += fmt::format("{}: {}\n", evaluation_name(run), score_sentence(*run.evaluation));
  return out;
}

}  // namespace multicard::post
