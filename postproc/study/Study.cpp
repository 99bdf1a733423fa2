#include "postproc/study/Study.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/Text.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/ConfigurationLabels.hpp"
#include "postproc/study/DataSets.hpp"
#include "postproc/study/DeckSettings.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/Rules.hpp"
#include "postproc/study/RunFindings.hpp"

namespace multicard::post {

namespace {

std::size_t configuration_of(Study& study, const RunReport& run) {
  std::map<std::string, std::string> settings;
  for (const Axis& axis : study.axes)
    settings[axis.key] = setting(run, axis.key);
  auto& known = study.configurations;
  const auto found = std::ranges::find_if(known, [&](const Configuration& c) { return c.settings == settings; });
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin());
  Configuration configuration;
  configuration.settings = settings;
  configuration.label = label_of(study, settings, false);
  configuration.work_label = label_of(study, settings, true);
  configuration.has_options = !configuration.label.empty();
  if (!configuration.has_options) configuration.label = plain_label(study, run);
  known.push_back(std::move(configuration));
  return known.size() - 1;
}

Cell& cell_for(Study& study, std::size_t configuration, int ranks) {
  for (Cell& cell : study.cells)
    if (cell.configuration == configuration && cell.ranks == ranks) return cell;
  Cell cell;
  cell.configuration = configuration;
  cell.ranks = cell.fewest_ranks = ranks;
  study.cells.push_back(cell);
  return study.cells.back();
}

void choose_measured(const std::vector<RunReport>& runs, Cell& cell) {
  bool any_complete = false, any_stopped = false;
  for (const std::size_t run : cell.runs) {
    any_complete = any_complete || runs[run].status == "complete";
    any_stopped = any_stopped || runs[run].status == "stopped";
  }
  cell.status = any_complete ? CellStatus::complete : any_stopped ? CellStatus::stopped : CellStatus::failed;
  // Stopped runs count only where no run completed.
  const std::string wanted = any_complete ? "complete" : "stopped";
  for (const std::size_t run : cell.runs)
    if (runs[run].status == wanted && runs[run].measured()) cell.measured.push_back(run);
}

double mean_over(const std::vector<RunReport>& runs, const Cell& cell, double RunReport::*member) {
  std::vector<double> values;
  for (const std::size_t run : cell.measured)
    values.push_back(runs[run].*member);
  return mean(values);
}

/// The last value after the first step, over the runs with the cell's status; unknown where they were scored after
/// different numbers of steps. Runs that agree to the last bit say nothing about run-to-run variation: no interval.
Estimate score_of(const std::vector<RunReport>& runs, const Cell& cell, const char* metric) {
  std::vector<Estimate> scores;
  std::set<std::int64_t> steps;
  bool any_differ = false;
  for (const std::size_t index : cell.runs) {
    const MetricSeries* series = runs[index].metric(metric);
    if (runs[index].status != text_of(cell.status) || !series || series->steps.back() == 0) continue;
    const double value = series->values.back();
    if (!std::isfinite(value)) continue;
    scores.push_back({value, std::nullopt, Basis::none, 1});
    steps.insert(series->steps.back());
    any_differ = any_differ || value != scores.front().value;
  }
  if (steps.size() > 1) return {};
  Estimate score = estimate_of_repeats(scores);
  if (!any_differ) score.interval.reset();
  return score;
}

void reduce(const std::vector<RunReport>& runs, Cell& cell) {
  std::vector<Estimate> rates, times;
  for (const std::size_t index : cell.measured) {
    const RunReport& run = runs[index];
    cell.fewest_ranks = std::min(cell.fewest_ranks, run.fewest_ranks.value_or(run.ranks));
    rates.push_back(run.rate);
    times.push_back(run.step_time);
    for (std::size_t p = 0; p < kNumPhases; ++p)
      cell.phases[p] += run.phases[p] / static_cast<double>(cell.measured.size());
    for (const auto& [name, bytes] : run.memory)
      cell.memory[name] = std::max(cell.memory[name], bytes);
    for (std::size_t rank = 0; rank < run.rank_reports.size(); ++rank)
      if (run.rank_reports[rank].straggler) ++cell.stragglers[static_cast<int>(rank)];
  }
  // Medians of rates and times, which may have outliers; means of shares, which must add up.
  cell.rate = estimate_of_repeats(rates);
  cell.step_time = estimate_of_repeats(times);
  cell.test_loss = score_of(runs, cell, "eval_loss");
  cell.test_accuracy = score_of(runs, cell, "eval_accuracy");
  cell.mean_step = mean_over(runs, cell, &RunReport::mean_step);
  cell.exposed_share = mean_over(runs, cell, &RunReport::exposed_share);
  cell.data_wait_share = mean_over(runs, cell, &RunReport::data_wait_share);
  cell.rank_spread = mean_over(runs, cell, &RunReport::rank_spread);
}

/// Whether speedups can rest on a cell: not on one that a shared job moved between numbers of ranks.
bool is_comparable(const Cell& cell) {
  return cell.counts() && cell.fewest_ranks == cell.ranks;
}

bool has_several_counts(const Study& study, std::size_t configuration) {
  const auto cells = study.cells_of(configuration);
  return std::ranges::count_if(cells, [](const Cell* cell) { return is_comparable(*cell); }) > 1;
}

/// R0 of each configuration: the fewest ranks of its comparable cells; where none is comparable, the fewest on which it
/// completed.
void set_baselines(Study& study) {
  const auto set_where = [&](const auto& is_baseline) {
    for (const Cell& cell : study.cells) {
      std::optional<int>& baseline = study.configurations[cell.configuration].baseline_ranks;
      if (!baseline && is_baseline(cell)) baseline = cell.ranks;
    }
  };
  set_where(is_comparable);
  set_where([](const Cell& cell) { return cell.counts(); });
}

/// Speedup S(R) = R0 rate(R) / rate(R0) and efficiency S(R) / R. At R0 both are exact by definition; measured on one
/// number of ranks only there are none.
void compare_with_baseline(Study& study) {
  set_baselines(study);
  for (Cell& cell : study.cells) {
    if (!is_comparable(cell)) continue;
    const Configuration& configuration = study.configuration(cell);
    const int baseline_ranks = *configuration.baseline_ranks;
    if (!has_several_counts(study, cell.configuration)) continue;
    if (baseline_ranks == cell.ranks) {
      cell.speedup.value = baseline_ranks;
      cell.efficiency.value = 1;
      continue;
    }
    const Estimate& baseline = study.cell(cell.configuration, baseline_ranks)->rate;
    cell.speedup = ratio(cell.rate, baseline, baseline_ranks);
    cell.efficiency = ratio(cell.rate, baseline, static_cast<double>(baseline_ranks) / cell.ranks);
  }
}

/// "data sets" or "tuning methods", with what all their steps have in common.
std::string title_of_cases(const Study& study) {
  const std::string amount = fixed_amount(study), what = compares_methods(study) ? "tuning methods" : "data sets";
  return amount.empty() ? what : what + " at " + amount;
}

StudyKind kind_of(const Study& study) {
  if (study.comparable().size() == 1) return StudyKind::one_work;
  if (compares_methods(study)) return StudyKind::methods;
  return compares_data_sets(study) ? StudyKind::data_sets : StudyKind::works;
}

void add_machine_where_it_differs(Study& study) {
  std::vector<std::string> machines;
  for (const Source& source : study.sources) {
    std::vector<std::string> parts;
    for (const char* key : {"gpus", "cpu"})
      if (const auto found = source.provenance.find(key); found != source.provenance.end() && !found->second.empty())
        parts.push_back(found->second);
    machines.push_back(parts.empty() ? std::string("unknown machine") : parts.front());
  }
  if (std::set<std::string>(machines.begin(), machines.end()).size() < 2) return;
  for (RunReport& run : study.runs)
    run.settings["machine"] = machines[run.source];
}

}  // namespace

std::string Configuration::full_label() const {
  if (work_label.empty()) return label;
  return has_options ? label + ", " + work_label : work_label;
}

const Cell* Study::cell(std::size_t configuration, int ranks) const {
  for (const Cell& candidate : cells)
    if (candidate.configuration == configuration && candidate.ranks == ranks) return &candidate;
  return nullptr;
}

std::vector<const Cell*> Study::cells_of(std::size_t configuration) const {
  std::vector<const Cell*> out;
  for (const Cell& candidate : cells)
    if (candidate.configuration == configuration) out.push_back(&candidate);
  return out;
}

std::vector<std::vector<std::size_t>> Study::comparable() const {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    // Work labels are made of all axes that change the work.
    const auto same_work = [&](const std::vector<std::size_t>& group) {
      return configurations[group.front()].work_label == configurations[i].work_label;
    };
    const auto found = std::ranges::find_if(groups, same_work);
    if (found != groups.end())
      found->push_back(i);
    else
      groups.push_back({i});
  }
  return groups;
}

std::string Study::title() const {
  std::vector<std::string> counts, names;
  for (const int ranks : rank_counts)
    counts.push_back(std::to_string(ranks));
  for (const Axis& axis : axes)
    names.push_back(axis.is_work && short_key(axis.key) == "case" ? title_of_cases(*this) : keys.label(axis.key));
  const std::string on = join(counts, ", ") + (rank_counts == std::vector<int>{1} ? " rank" : " ranks");
  if (cells.size() == 1) return name_of(*this, cells.front());
  if (configurations.size() == 1) return configurations[0].full_label() + " on " + on;
  return capitalised(join(names, " × ")) + " on " + on;
}

Study make_study(std::vector<Source> sources, std::vector<RunReport> runs, KeyTable keys) {
  Study study;
  study.sources = std::move(sources);
  study.runs = std::move(runs);
  add_machine_where_it_differs(study);
  study.keys = std::move(keys);
  add_deck_settings(study.runs, study.keys);
  study.axes = find_axes(study.runs, study.keys);
  study.scaling = find_scaling(study.runs);
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    const RunReport& run = study.runs[i];
    cell_for(study, configuration_of(study, run), run.ranks).runs.push_back(i);
  }
  std::ranges::stable_sort(study.cells, [](const Cell& a, const Cell& b) {
    return std::pair(a.configuration, a.ranks) < std::pair(b.configuration, b.ranks);
  });
  std::set<int> counts;
  for (Cell& cell : study.cells) {
    choose_measured(study.runs, cell);
    reduce(study.runs, cell);
    counts.insert(cell.ranks);
  }
  study.rank_counts.assign(counts.begin(), counts.end());
  compare_with_baseline(study);
  study.kind = kind_of(study);
  std::set<std::string> units;
  for (const RunReport& run : study.runs)
    if (run.measured()) units.insert(run.unit);
  if (units.empty()) units.insert("rows");
  study.unit = join({units.begin(), units.end()}, " or ");
  study.predictions = predict_scaling(study);
  study.effects = option_effects(study);
  study.answers = answers_of(study);
  study.advice = advice_of(study);
  study.findings = run_findings(study);
  return study;
}

const char* text_of(Scaling scaling) {
  return scaling == Scaling::strong ? "strong" : scaling == Scaling::weak ? "weak" : "mixed";
}

const char* text_of(CellStatus status) {
  return status == CellStatus::complete ? "complete" : status == CellStatus::stopped ? "stopped" : "failed";
}

const char* text_of(Basis basis) {
  switch (basis) {
    case Basis::repeats:
      return "repeats";
    case Basis::steps:
      return "steps";
    case Basis::cells:
      return "cells";
    default:
      return "none";
  }
}

}  // namespace multicard::post
