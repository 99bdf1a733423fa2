// What a comparison says, in sentences.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Comparison.hpp"

namespace multicard::post {

namespace {

using Cells = std::vector<const ComparedCell*>;

Cells measured_cells(const Comparison& comparison) {
  Cells out;
  for (const ComparedCell& cell : comparison.cells)
    if (cell.is_measured()) out.push_back(&cell);
  return out;
}

std::string signed_ms(double seconds) {
  return fmt::format("{}{} ms", seconds < 0 ? "−" : "+", significant(1000 * std::abs(seconds), 3));
}

/// "B is 1.23 times as fast as A (95 % interval 1.18–1.29)", or "B takes 1.23 times as long as A (…)".
std::string times_text(const Estimate& ratio, Evidence& evidence) {
  const SpeedText speed = speed_text(ratio);
  if (speed.is_slower) evidence.add({"time_ratio", speed.shown});
  return fmt::format("B {} {} as A (95 % interval {})", speed.is_slower ? "takes" : "is", speed.times, speed.range);
}

/// Of one configuration.
Finding answer_of(const ComparedCell& cell) {
  Finding out{{}, {{"ranks_a", cell.cell_a->ranks}, {"ranks_b", cell.cell_b->ranks}}, "headline"};
  const Estimate& ratio = cell.rate_ratio;
  if (!ratio.known()) {
    out.text =
        fmt::format("A counts {}, B counts {}: their rates cannot be compared", cell.study_a->unit, cell.study_b->unit);
    return out;
  }
  if (!ratio.interval) {
    out.text = "Too few values to compare the speed of A and B";
    return out;
  }
  out.evidence.add({"ratio", ratio});
  out.text = cell.is_measurable()
                 ? times_text(ratio, out.evidence)
                 : fmt::format("No measurable difference in speed between A and B ({})",
                               is_too_wide(ratio) ? "the interval is too wide to tell" : range_text(ratio, 3));
  return out;
}

/// Of several.
Finding answer_of(const Cells& cells) {
  std::vector<Estimate> ratios;
  long faster = 0, slower = 0;
  for (const ComparedCell* cell : cells) {
    if (!cell->rate_ratio.known()) continue;
    ratios.push_back(cell->rate_ratio);
    if (cell->is_measurable()) ++(cell->rate_ratio.value > 1 ? faster : slower);
  }
  const auto all = static_cast<long>(ratios.size());
  const Estimate mean = geometric_mean(ratios);
  Finding out{{}, {{"configurations", all}, {"faster", faster}, {"slower", slower}}, "headline"};
  if (ratios.empty()) {
    out.text = "A and B count different things: their rates cannot be compared";
    return out;
  }
  if (!mean.interval) {
    out.text = fmt::format("Too few values to compare the speed of A and B over {}", counted(all, "configuration"));
    return out;
  }
  out.evidence.add({"ratio", mean});
  out.text =
      shows_no_difference(mean)
          ? fmt::format("No measurable difference in speed between A and B over {} ({})", counted(all, "configuration"),
                        is_too_wide(mean) ? "the interval is too wide to tell" : range_text(mean, 3))
          : fmt::format("{}, mean over {}", times_text(mean, out.evidence), counted(all, "configuration"));
  return out;
}

/// How many became faster and slower, and the extremes.
Finding spread_of(const Cells& cells) {
  long faster = 0, slower = 0;
  const ComparedCell *least = nullptr, *most = nullptr;
  for (const ComparedCell* cell : cells) {
    if (!cell->rate_ratio.known()) continue;
    if (cell->is_measurable()) ++(cell->rate_ratio.value > 1 ? faster : slower);
    if (!least || cell->rate_ratio.value < least->rate_ratio.value) least = cell;
    if (!most || cell->rate_ratio.value > most->rate_ratio.value) most = cell;
  }
  if (!least || least == most) return {};
  const auto all = static_cast<long>(cells.size());
  const std::string of = counted(all, "configuration");
  const std::string how_many =
      faster + slower == 0 ? fmt::format("None of {} differs measurably", of)
                           : fmt::format("Of {}, {} became measurably faster and {} slower", of, faster, slower);
  return {
      fmt::format("{}: from {} times A’s rate ({}) to {} times ({}).", how_many, alike(least->rate_ratio.value, 1, 3),
                  least->label, alike(most->rate_ratio.value, 1, 3), most->label),
      {{"configurations", all},
       {"faster", faster},
       {"slower", slower},
       {"least", least->rate_ratio.value},
       {"most", most->rate_ratio.value}},
      "spread"};
}

/// "forward +1.9 ms (86.0 %), update +0.2 ms (9.1 %)": the phases that moved measurably in the direction of the step.
std::string contributors_of(const ComparedCell& cell, Finding& finding) {
  constexpr double kWorthMentioning = 0.05;
  std::vector<std::string> parts;
  for (const ComparedPhase& phase : cell.phases) {
    if (!phase.is_measurable() || !(phase.share >= kWorthMentioning)) continue;
    const auto p = std::ranges::find(kPhaseNames, phase.name) - kPhaseNames.begin();
    parts.push_back(fmt::format("{} {} ({} of the difference)", phase_name(static_cast<Phase>(p)),
                                signed_ms(phase.difference.value), percent(phase.share)));
    finding.evidence.add({{phase.name + "_s", phase.difference}, {phase.name + "_share", phase.share}});
  }
  return join(parts, ", ");
}

/// Phases that moved although the step did not, or against it.
std::string others_of(const ComparedCell& cell, bool is_step_measurable) {
  std::vector<std::string> parts;
  for (const ComparedPhase& phase : cell.phases) {
    const bool is_against = phase.share < 0;
    if (!phase.is_measurable() || (is_step_measurable && !is_against)) continue;
    const auto p = std::ranges::find(kPhaseNames, phase.name) - kPhaseNames.begin();
    parts.push_back(phase_name(static_cast<Phase>(p)) + std::string(" ") + signed_ms(phase.difference.value));
  }
  constexpr std::size_t kMost = 3;
  if (parts.size() > kMost) parts.resize(kMost);
  return join(parts, ", ");
}

/// The difference of the mean step, whose phases add up to it.
Finding step_of(const ComparedCell& cell, bool is_one_of_many) {
  const ComparedNumber& step = cell.mean_step;
  Finding out{{}, {{"step_a_s", step.a}, {"step_b_s", step.b}, {"difference_s", step.difference}}, "phases"};
  const std::string where = !is_one_of_many        ? std::string()
                            : cell.is_measurable() ? "; largest change: " + cell.label
                                                   : "; " + cell.label;
  const std::string numbers =
      fmt::format("{} → {} ms{}", significant(1000 * step.a.value), significant(1000 * step.b.value), where);
  const auto& interval = step.difference.interval;
  if (!interval) {
    out.text = fmt::format("Mean step {}: too few values for an interval, so no phase is named.", numbers);
    return out;
  }
  const bool is_measurable = interval->low > 0 || interval->high < 0;
  const std::string range = fmt::format("{} to {}", signed_ms(interval->low), signed_ms(interval->high));
  if (!is_measurable) {
    out.text = fmt::format("No measurable difference of the mean step ({}; difference {}).", numbers, range);
  } else {
    out.text = fmt::format("The mean step is {} {} ({}; 95 % interval {})",
                           significant(1000 * std::abs(step.difference.value), 3) + " ms",
                           step.difference.value > 0 ? "longer" : "shorter", numbers, range);
    const std::string contributors = contributors_of(cell, out);
    out.text += contributors.empty() ? "; no phase alone changed measurably." : ": " + contributors + ".";
  }
  if (const std::string others = others_of(cell, is_measurable); !others.empty())
    out.text += fmt::format(" {}: {}.", is_measurable ? "Against it" : "Yet these phases changed", others);
  return out;
}

/// The item of each kind that changed most in the direction of the step, where the step changed measurably.
Finding items_of(const ComparedCell& cell) {
  const Estimate& step = cell.mean_step.difference;
  if (!step.interval || (step.interval->low <= 0 && step.interval->high >= 0)) return {};
  // Of the mean step: less is in the noise of a profile's few steps.
  constexpr double kNoticeable = 0.01;
  Finding out{{}, {}, "items"};
  std::vector<std::string> parts;
  for (const ComparedItems& items : cell.items) {
    const auto first = std::ranges::find_if(
        items.items, [&](const ComparedItem& item) { return (item.difference() > 0) == (step.value > 0); });
    if (first == items.items.end() || std::abs(first->difference()) < kNoticeable * cell.mean_step.a.value) continue;
    parts.push_back(fmt::format("{} {} ({} → {} ms, {})", first->name, signed_ms(first->difference()),
                                significant(1000 * first->seconds_a, 3), significant(1000 * first->seconds_b, 3),
                                items.id));
    out.evidence.add({{items.id + "_a_s", first->seconds_a}, {items.id + "_b_s", first->seconds_b}});
  }
  if (parts.empty()) return {};
  out.text = "Changed most, a step and rank, without intervals: " + join(parts, "; ") + ".";
  return out;
}

Finding evaluation_of(const ComparedEvaluation& evaluation) {
  const ComparedNumber& score = evaluation.scores.front();
  Finding out{{}, {{"a", score.a}, {"b", score.b}, {"difference", score.difference}}, "headline"};
  const std::string numbers =
      fmt::format("{} {} → {}", score.name, significant(score.a.value), significant(score.b.value));
  if (!score.difference.interval) {
    out.text =
        fmt::format("B against A: {}; without an interval the difference says nothing of other samples", numbers);
    return out;
  }
  const Interval& interval = *score.difference.interval;
  const auto with_sign = [](double value) { return fmt::format("{}{:.4f}", value < 0 ? "−" : "+", std::abs(value)); };
  const std::string range =
      fmt::format("95 % interval of the difference {} to {}", with_sign(interval.low), with_sign(interval.high));
  const bool is_measurable = interval.low > 0 || interval.high < 0;
  out.text = is_measurable
                 ? fmt::format("B has the {} {}: {} ({})", score.difference.value > 0 ? "higher" : "lower", score.name,
                               numbers, range)
                 : fmt::format("No measurable difference in {} between A and B ({}; {})", score.name, numbers, range);
  return out;
}

}  // namespace

Findings comparison_findings(const Comparison& comparison) {
  Findings findings;
  const auto add = [&](Finding finding) {
    if (!finding.empty()) findings.push_back(std::move(finding));
  };
  const Cells cells = measured_cells(comparison);
  if (!cells.empty()) add(cells.size() == 1 ? answer_of(*cells.front()) : answer_of(cells));
  for (const ComparedEvaluation& evaluation : comparison.evaluations) {
    Finding scored = evaluation_of(evaluation);
    if (!findings.empty()) scored.id = "evaluation";
    add(std::move(scored));
  }
  // What the answer must not be taken for, before what explains it.
  for (Finding& finding : different_work_findings(comparison))
    add(std::move(finding));
  if (cells.size() > 1) add(spread_of(cells));
  if (const ComparedCell* most = most_changed(comparison)) {
    add(step_of(*most, cells.size() > 1));
    add(items_of(*most));
  }
  for (Finding& finding : left_out_findings(comparison, cells))
    add(std::move(finding));
  return findings;
}

}  // namespace multicard::post
