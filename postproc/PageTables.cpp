#include "postproc/PageTables.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Axes.hpp"
#include "postproc/Labels.hpp"
#include "postproc/Standings.hpp"
#include "postproc/Tables.hpp"

namespace multicard::post {

namespace {

HtmlCell number(double value, int digits = 4) {
  return {value == value ? significant(value, digits) : "–", value};
}

HtmlCell share(double value) {
  return {percent(value), value};
}

HtmlCell estimate(const Estimate& value, int digits = 4) {
  return {with_interval(value, digits), value.value};
}

std::string with_phase_blank(const char* name) {
  std::string out = name;
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string label_of(const Study& study, const Cell& cell) {
  return study.configurations[cell.configuration].full_label();
}

/// Names of the counters that any cell has, in order.
std::vector<std::string> memory_names(const Study& study) {
  std::set<std::string> names;
  for (const Cell& cell : study.cells)
    for (const auto& [name, bytes] : cell.memory)
      names.insert(name);
  return {names.begin(), names.end()};
}

std::string memory_label(std::string name) {
  const std::size_t suffix = name.rfind("_bytes");
  if (suffix != std::string::npos) name.erase(suffix);
  for (char& c : name)
    if (c == '_' || c == '/') c = ' ';
  return name;
}

}  // namespace

HtmlTable cells_table(const Study& study) {
  HtmlTable out{"Configurations and numbers of ranks. Click a head to sort.",
                {"configuration", "ranks", study.rate_unit(), "speedup", "efficiency", "exposed", "data wait",
                 "step, ms", "complete"},
                {}};
  for (const Cell& cell : study.cells) {
    Estimate milliseconds = cell.step_time;
    milliseconds.value *= 1000;
    milliseconds.interval.reset();
    const std::size_t complete = cell.status == CellStatus::complete ? cell.measured.size() : 0;
    out.rows.push_back({label_of(study, cell),
                        number(cell.ranks),
                        estimate(cell.rate),
                        estimate(cell.speedup, 3),
                        estimate(cell.efficiency, 3),
                        share(cell.exposed_share),
                        share(cell.data_wait_share),
                        estimate(milliseconds),
                        {fmt::format("{} of {}", complete, cell.runs.size()), static_cast<double>(complete)}});
  }
  return out;
}

HtmlTable phases_table(const Study& study) {
  HtmlTable out{"Milliseconds of a step, mean over ranks and measured steps.", {"configuration", "ranks", "step"}, {}};
  for (const char* name : kPhaseNames)
    out.head.push_back(with_phase_blank(name));
  for (const Cell& cell : study.cells) {
    if (cell.measured.empty()) continue;
    std::vector<HtmlCell> row{label_of(study, cell), number(cell.ranks), number(1000 * cell.mean_step)};
    for (const double seconds : cell.phases)
      row.push_back(number(1000 * seconds, 3));
    out.rows.push_back(std::move(row));
  }
  return out;
}

std::string communication_html(const Study& study) {
  HtmlTable out{
      "Collectives of the run in the middle of each cell, seconds as means over ranks. Overlapped is the share "
      "that no rank waited for.",
      {"configuration", "ranks", "kind", "calls", "payload", "total, s", "exposed, s", "overlapped"},
      {}};
  for (const Cell& cell : study.cells) {
    if (cell.measured.empty()) continue;
    for (const auto& [kind, totals] : representative(study, cell).communication) {
      const double overlapped = totals.seconds_total > 0 ? 1 - totals.seconds_exposed / totals.seconds_total : kNone;
      out.rows.push_back({label_of(study, cell), number(cell.ranks), kind, number(static_cast<double>(totals.calls)),
                          HtmlCell(human_bytes(totals.payload_bytes), totals.payload_bytes),
                          number(totals.seconds_total, 3), number(totals.seconds_exposed, 3), share(overlapped)});
    }
  }
  return out.rows.empty() ? std::string() : table(out);
}

std::string memory_html(const Study& study) {
  const std::vector<std::string> names = memory_names(study);
  if (names.empty()) return paragraph("No memory was recorded.");
  HtmlTable out{"Bytes of the rank that needs most, over repeats.", {"configuration", "ranks"}, {}};
  for (const std::string& name : names)
    out.head.push_back(memory_label(name));
  for (const Cell& cell : study.cells) {
    if (cell.memory.empty()) continue;
    std::vector<HtmlCell> row{label_of(study, cell), number(cell.ranks)};
    for (const std::string& name : names) {
      const auto found = cell.memory.find(name);
      row.push_back(found == cell.memory.end() ? HtmlCell("–", kNone)
                                               : HtmlCell(human_bytes(static_cast<double>(found->second)),
                                                          static_cast<double>(found->second)));
    }
    out.rows.push_back(std::move(row));
  }
  return table(out);
}

HtmlTable runs_table(const Study& study) {
  HtmlTable out{"Every run. Click a head to sort.", {"run"}, {}};
  if (study.sources.size() > 1) out.head.emplace_back("file");
  for (const Axis& axis : study.axes)
    out.head.push_back(key_label(axis.key));
  for (const char* name : {"ranks", "repeat", "status"})
    out.head.emplace_back(name);
  out.head.push_back(study.rate_unit());
  for (const char* name : {"step, ms", "exposed", "data wait", "rank spread", "steps", "error"})
    out.head.emplace_back(name);
  for (const RunReport& run : study.runs) {
    std::vector<HtmlCell> row{run.name};
    if (study.sources.size() > 1) row.emplace_back(study.sources[run.source].path);
    for (const Axis& axis : study.axes)
      row.emplace_back(setting(run, axis.key));
    row.push_back(number(run.ranks));
    row.push_back(number(static_cast<double>(run.repeat)));
    row.emplace_back(run.status);
    row.push_back(estimate(run.rate));
    row.push_back(number(1000 * run.step_time.value));
    row.push_back(share(run.exposed_share));
    row.push_back(share(run.data_wait_share));
    row.push_back(number(run.rank_spread, 3));
    row.push_back(number(static_cast<double>(run.num_steps)));
    row.emplace_back(run.error);
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace multicard::post
