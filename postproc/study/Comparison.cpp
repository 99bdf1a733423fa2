#include "postproc/study/Comparison.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Evaluation.hpp"
#include "postproc/study/RunningMedian.hpp"

namespace multicard::post {

namespace {

ComparedNumber compared(std::string name, const Estimate& a, const Estimate& b) {
  return {std::move(name), a, b, difference(b, a)};
}

Estimate plain(double value) {
  return {value, std::nullopt, Basis::none, 1};
}

/// Over steps where one run was measured, else over repeats.
Estimate mean_over_runs(const Study& study, const Cell& cell, const std::function<Estimate(const RunReport&)>& of) {
  if (cell.measured.size() == 1) return of(study.runs[cell.measured.front()]);
  std::vector<double> values;
  for (const std::size_t run : cell.measured)
    if (const double value = of(study.runs[run]).value; std::isfinite(value)) values.push_back(value);
  return estimate_of_mean(values, Basis::repeats, 2);
}

void compare_phases(ComparedCell& cell) {
  const auto both = [&](const std::function<Estimate(const RunReport&)>& of) {
    return compared("", mean_over_runs(*cell.study_a, *cell.cell_a, of),
                    mean_over_runs(*cell.study_b, *cell.cell_b, of));
  };
  cell.mean_step = both([](const RunReport& run) { return run.step_mean; });
  cell.mean_step.name = "mean step";
  for (std::size_t p = 0; p < kNumPhases; ++p) {
    ComparedPhase phase{both([p](const RunReport& run) { return run.phase_means[p]; })};
    phase.name = kPhaseNames[p];
    phase.share = phase.difference.value / cell.mean_step.difference.value;
    cell.phases.push_back(std::move(phase));
  }
  const auto size = [](const ComparedPhase& phase) {
    const double by = std::abs(phase.difference.value);
    return std::isfinite(by) ? by : 0;
  };
  std::ranges::stable_sort(cell.phases, std::greater(), size);
}

/// The metric at the end of each measured run. Of a training loss the smoothed curve's: single losses are noise. Runs
/// that agree to the last digit say nothing about variation.
Estimate final_score(const Study& study, const Cell& cell, const std::string& name) {
  std::vector<Estimate> values;
  bool any_differ = false;
  for (const std::size_t index : cell.measured) {
    const MetricSeries* metric = study.runs[index].metric(name);
    if (!metric || metric->steps.back() == 0) continue;
    const bool is_curve = name == "train_loss";
    if (is_curve && !has_curve(*metric)) continue;
    const double value =
        is_curve ? running_median(*metric, window_for(metric->values.size())).back().second : metric->values.back();
    if (!std::isfinite(value)) continue;
    values.push_back(plain(value));
    any_differ = any_differ || value != values.front().value;
  }
  Estimate score = estimate_of_repeats(values);
  if (!any_differ) score.interval.reset();
  return score;
}

void compare_scores(ComparedCell& cell) {
  for (const char* name : {"eval_accuracy", "eval_loss", "eval_exact_match", "eval_reward_accuracy", "train_loss"}) {
    const Estimate a = final_score(*cell.study_a, *cell.cell_a, name),
                   b = final_score(*cell.study_b, *cell.cell_b, name);
    if (a.known() && b.known()) cell.scores.push_back(compared(name, a, b));
  }
}

void compare_memory(ComparedCell& cell) {
  for (const char* name : {"host_peak_bytes", "device_peak_bytes"}) {
    const double a = number_in(cell.cell_a->memory, name), b = number_in(cell.cell_b->memory, name);
    if (a > 0 || b > 0) cell.memory.push_back(compared(name, plain(a), plain(b)));
  }
}

bool is_same_run(const ComparedCell& cell) {
  const auto same = [](const Estimate& a, const Estimate& b) { return a.value == b.value; };
  return same(cell.cell_a->rate, cell.cell_b->rate) && same(cell.cell_a->step_time, cell.cell_b->step_time) &&
         same(cell.mean_step.a, cell.mean_step.b);
}

void fill(ComparedCell& cell) {
  if (cell.cell_a->measured.empty() || cell.cell_b->measured.empty()) return;
  cell.step_ratio = ratio(cell.cell_b->step_time, cell.cell_a->step_time);
  if (cell.study_a->unit == cell.study_b->unit) cell.rate_ratio = ratio(cell.cell_b->rate, cell.cell_a->rate);
  compare_phases(cell);
  compare_scores(cell);
  compare_memory(cell);
  cell.items = compared_items(cell);
  cell.is_same_run = is_same_run(cell);
}

std::vector<ComparedNumber> evaluation_scores(const EvaluationReport& a, const EvaluationReport& b) {
  std::vector<ComparedNumber> out;
  const auto add = [&](const char* name, const Estimate& of_a, const Estimate& of_b) {
    if (of_a.known() && of_b.known()) out.push_back(compared(name, of_a, of_b));
  };
  add("accuracy", a.accuracy, b.accuracy);
  add("top5", plain(a.top5), plain(b.top5));
  add("loss", plain(a.loss), plain(b.loss));
  if (!a.language || !b.language) return out;
  add("perplexity", plain(a.language->perplexity), plain(b.language->perplexity));
  add("exact_match", a.language->exact_match, b.language->exact_match);
  add("reward_accuracy", plain(a.language->reward_accuracy), plain(b.language->reward_accuracy));
  return out;
}

/// The only evaluation of each, or those of one name.
std::vector<ComparedEvaluation> evaluations_of(const Collection& a, const Collection& b) {
  std::vector<ComparedEvaluation> out;
  const bool are_single = a.evaluated.size() == 1 && b.evaluated.size() == 1;
  for (const RunReport& of_a : a.evaluated)
    for (const RunReport& of_b : b.evaluated) {
      if (!are_single && evaluation_name(of_a) != evaluation_name(of_b)) continue;
      ComparedEvaluation both{evaluation_name(of_b), evaluation_scores(*of_a.evaluation, *of_b.evaluation), &of_a,
                              &of_b};
      if (!both.scores.empty()) out.push_back(std::move(both));
      break;
    }
  return out;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  if (names.empty()) return "nothing";
  if (names.size() <= kMost) return join(names, "; ");
  return join({names.begin(), names.begin() + kMost}, "; ") + fmt::format(" and {} more", names.size() - kMost);
}

/// \throws DataError where there is nothing to compare
void require_comparable(const Comparison& comparison) {
  if (!comparison.evaluations.empty() || std::ranges::any_of(comparison.cells, &ComparedCell::is_measured)) return;
  if (!comparison.cells.empty())
    throw DataError("A and B cannot be compared",
                    fmt::format("of {} that both have, none has measured steps in both",
                                counted(static_cast<long>(comparison.cells.size()), "configuration")),
                    "Name results of runs that completed, with more steps than skip_steps.");
  throw DataError("A and B have no configuration in common",
                  fmt::format("A has {}; B has {}", listed(comparison.only_a), listed(comparison.only_b)),
                  "Name two results of one task whose sweeps have values in common, or single runs.");
}

}  // namespace

bool ComparedCell::is_measurable() const {
  return rate_ratio.interval && !shows_no_difference(rate_ratio);
}

const char* phase_name(Phase phase) {
  constexpr std::array<const char*, kNumPhases> kNames{
      "waiting for data", "copying to the device", "forward", "backward", "exposed communication", "update", "other"};
  return kNames[static_cast<std::size_t>(phase)];
}

const ComparedCell* most_changed(const Comparison& comparison) {
  const ComparedCell* most = nullptr;
  const auto size = [](const ComparedCell& cell) {
    const double change = std::abs(std::log(cell.rate_ratio.value));
    return std::pair(cell.is_measurable(), std::isfinite(change) ? change : 0);
  };
  for (const ComparedCell& cell : comparison.cells)
    if (cell.is_measured() && (!most || size(cell) > size(*most))) most = &cell;
  return most;
}

Comparison compare(const Collection& a, const Collection& b) {
  Comparison comparison;
  match_cells(a, b, comparison);
  for (ComparedCell& cell : comparison.cells)
    fill(cell);
  comparison.evaluations = evaluations_of(a, b);
  require_comparable(comparison);
  compare_settings(a, b, comparison);
  comparison.findings = comparison_findings(comparison);
  return comparison;
}

}  // namespace multicard::post
