#include "postproc/page/PageTables.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/OptionEffect.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

HtmlCell number(double value, int digits = 4) {
  return {value == value ? significant(value, digits) : "–", value};
}

/// A ratio: 1.00 rather than 1.
HtmlCell factor(double value) {
  return {value == value ? alike(value, value, 3) : "–", value};
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
  return study.configuration(cell).full_label();
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
  HtmlTable out{
      "cells", "Configurations and numbers of ranks. Click a column header to sort.", {"configuration", "ranks"}, {}};
  out.head.push_back(study.rate_unit());
  out.head.emplace_back("s for 1,000");
  if (study.has_scaling()) out.head.insert(out.head.end(), {"speedup", "efficiency"});
  const std::optional<LearningScore> score = learning_score(study);
  if (score)
    out.head.emplace_back(compares_methods(study) ? std::string(score->name) + " of its objective" : score->name);
  out.head.insert(out.head.end(), {"exposed", "data wait", "step, ms", "complete"});
  for (const Cell& cell : study.cells) {
    const std::size_t complete = cell.status == CellStatus::complete ? cell.measured.size() : 0;
    std::vector<HtmlCell> row{label_of(study, cell),
                              {ranks_range(cell), double(cell.ranks)},
                              estimate(cell.rate),
                              number(cell.time_per_thousand().value)};
    if (study.has_scaling()) row.insert(row.end(), {estimate(cell.speedup, 3), estimate(cell.efficiency, 3)});
    if (score) row.push_back(estimate(cell.*score->member));
    row.insert(row.end(), {share(cell.exposed_share),
                           share(cell.data_wait_share),
                           number(1000 * cell.step_time.value),
                           {fmt::format("{} of {}", complete, cell.runs.size()), static_cast<double>(complete)}});
    out.rows.push_back(std::move(row));
  }
  return out;
}

HtmlTable phases_table(const Study& study) {
  HtmlTable out{
      "phases", "Milliseconds of a step, mean over ranks and measured steps.", {"configuration", "ranks", "step"}, {}};
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
      "communication",
      "Collectives, median run of each cell; seconds averaged over ranks. Exposed is the time in "
      "wait(), with what slower ranks are waited for; overlapped is 1 − exposed / total, and 0 where more is waited "
      "than the operations themselves take.",
      {"configuration", "ranks", "kind", "calls", "payload", "on the bus", "total, s", "exposed, s", "overlapped"},
      {}};
  for (const Cell& cell : study.cells) {
    if (cell.measured.empty()) continue;
    for (const auto& [kind, totals] : representative(study, cell).communication) {
      const double overlapped =
          totals.seconds_total > 0 ? std::max(0.0, 1 - totals.seconds_exposed / totals.seconds_total) : kNone;
      out.rows.push_back({label_of(study, cell), number(cell.ranks), kind, number(static_cast<double>(totals.calls)),
                          HtmlCell(human_bytes(totals.payload_bytes), totals.payload_bytes),
                          HtmlCell(human_bytes(totals.bus_bytes), totals.bus_bytes), number(totals.seconds_total, 3),
                          number(totals.seconds_exposed, 3), share(overlapped)});
    }
  }
  return out.rows.empty() ? std::string() : table(out);
}

std::string transfers_html(const Study& study) {
  std::set<std::string> directions;
  bool all_on_cpu = true;
  for (const RunReport& run : study.runs)
    all_on_cpu = all_on_cpu && run.on_cpu();
  if (all_on_cpu) return paragraph("Nothing is copied between host and device: the ranks computed on CPUs.");
  for (const Cell& cell : study.cells)
    if (!cell.measured.empty())
      for (const auto& [direction, bytes] : representative(study, cell).transfers)
        directions.insert(direction);
  if (directions.empty()) return {};
  HtmlTable out{"transfers",
                "Copies to and within devices: bytes per step and rank, median run of each cell.",
                {"configuration", "ranks"},
                {}};
  for (std::string direction : directions) {
    std::replace(direction.begin(), direction.end(), '_', ' ');
    out.head.push_back(direction);
  }
  for (const Cell& cell : study.cells) {
    if (cell.measured.empty()) continue;
    std::vector<HtmlCell> row{label_of(study, cell), number(cell.ranks)};
    const auto& transfers = representative(study, cell).transfers;
    for (const std::string& direction : directions) {
      const auto found = transfers.find(direction);
      row.push_back(found == transfers.end() ? HtmlCell("–", kNone)
                                             : HtmlCell(human_bytes(found->second), found->second));
    }
    out.rows.push_back(std::move(row));
  }
  return table(out);
}

std::string options_html(const Study& study) {
  HtmlTable out{"options",
                "Rate with the option over the rate without it, everything else equal: geometric mean over pairs of "
                "cells with its 95 % interval, and the cells where it is least and most.",
                {"option", "instead of", "times the rate", "pairs of runs", "cells", "not completed", "least", "where",
                 "most", "where"},
                {}};
  for (const OptionEffect& effect : study.effects)
    out.rows.push_back({effect.value_label, effect.baseline_label, estimate(effect.ratio, 3),
                        number(effect.ratio.num_values), number(effect.num_cells), number(effect.num_unfinished),
                        factor(effect.least), effect.least_at, factor(effect.most), effect.most_at});
  return out.rows.empty() ? std::string() : table(out);
}

std::string memory_html(const Study& study) {
  const std::vector<std::string> names = memory_names(study);
  if (names.empty()) return paragraph("No memory was recorded.");
  HtmlTable out{"memory", "Bytes of the rank that needs most, over repeats.", {"configuration", "ranks"}, {}};
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
  HtmlTable out{"runs", "Every run. Click a column header to sort.", {"run"}, {}};
  if (study.sources.size() > 1) out.head.emplace_back("file");
  for (const Axis& axis : study.axes)
    out.head.push_back(study.keys.label(axis.key));
  for (const char* name : {"ranks", "repeat", "status"})
    out.head.emplace_back(name);
  out.head.push_back(study.rate_unit());
  for (const char* name : {"step, ms", "exposed", "data wait", "rank spread", "steps", "error"})
    out.head.emplace_back(name);
  for (const RunReport& run : study.runs) {
    std::vector<HtmlCell> row{run.name};
    if (study.sources.size() > 1) row.emplace_back(study.sources[run.source].path);
    for (const Axis& axis : study.axes) {
      const std::string value = setting(run, axis.key);
      row.emplace_back(short_value(short_key(axis.key) == "model" ? last_name(value) : value));
    }
    row.push_back(number(run.ranks));
    row.push_back(number(static_cast<double>(run.repeat)));
    row.emplace_back(run.outcome());
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
