#include "postproc/study/StudyFindings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

constexpr double kWorthMentioning = 0.1;  ///< share of a step

/// A kind of work of a step, with its share.
struct Part {
  const char* name;
  double share;
};

/// "is mostly computing (82.1 %); 14.3 % is waiting for collectives"
std::string bottleneck(std::array<Part, 3> parts) {
  std::ranges::stable_sort(parts, [](const Part& a, const Part& b) { return a.share > b.share; });
  const char* const is = parts[0].share > 0.5 ? "is mostly" : "has no phase over a half: the largest is";
  std::string out = fmt::format("{} {} ({})", is, parts[0].name, percent(parts[0].share));
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].share >= kWorthMentioning) out += fmt::format("; {} is {}", percent(parts[i].share), parts[i].name);
  return out;
}

/// Why efficiency is lost although ranks do not wait; only where it is certain that it is lost.
void add_computing_growth(const Study& study, const Cell& cell, Finding& finding) {
  constexpr double kNoticeable = 1.1;
  const auto& baseline_ranks = study.configuration(cell).baseline_ranks;
  const auto& efficiency = cell.efficiency.interval;
  // The upper end of the interval below 1: efficiency is certainly lost.
  if (!baseline_ranks || *baseline_ranks == cell.ranks || !efficiency || efficiency->high >= 1) return;
  const double growth = compute_cost(cell) / compute_cost(*study.cell(cell.configuration, *baseline_ranks));
  if (!(growth > kNoticeable)) return;
  finding.evidence.add({{"computing_growth", growth}, {"baseline_ranks", *baseline_ranks}});
  finding.text += fmt::format(
      " Each {} takes {}× as much compute time as on {}. Check shared cores, memory bandwidth, small per-rank batches.",
      study.unit.substr(0, study.unit.size() - 1), significant(growth, 3), counted(*baseline_ranks, "rank"));
}

}  // namespace

Finding repeats_finding(const Study& study) {
  const auto any = [&](Basis basis) {
    return std::ranges::any_of(study.cells, [&](const Cell& cell) { return cell.rate.basis == basis; });
  };
  if (!any(Basis::steps)) return {};
  const char* const text = study.cells.size() == 1 ? "One run only: the interval excludes run-to-run variation."
                           : any(Basis::repeats)   ? "Some were run once: their intervals exclude run-to-run variation."
                                                 : "One run of each only: the intervals exclude run-to-run variation.";
  return {text, {}, "repeats"};
}

Finding comparison_finding(const Study& study, const Cell& best, const Cell& other, const std::string& role) {
  const Estimate quotient = ratio(best.rate, other.rate);
  const std::string who = fmt::format("the {}, {}", role, study.configuration(other).label);
  if (!quotient.interval) return {fmt::format("Too few values to compare it with {}.", who), {}, role};
  const Evidence evidence{{"ratio", quotient}};
  // Stricter than whether the ratio's interval excludes 1, and what docs/report.md calls measurably larger.
  if (!significantly_different(best.rate, other.rate))
    return {fmt::format("No measurable difference from {}: their intervals overlap.", who), evidence, role};
  const std::string range = range_text(quotient, 3);
  return {fmt::format("It does {} times the rate of {} ({}).", alike(quotient.value, quotient.value, 3), who,
                      quotient.basis == Basis::steps ? range + " within single runs" : "95 % interval " + range),
          evidence, role};
}

std::string times_text(const Estimate& ratio) {
  if (is_too_wide(ratio)) return "an interval too wide to tell";
  return range_text(ratio, 3) + " times the rate";
}

Estimate growth_of(const Study& study, const Cell& cell) {
  const auto& baseline = study.configuration(cell).baseline_ranks;
  if (!baseline) return {};
  return ratio(cell.rate, study.cell(cell.configuration, *baseline)->rate);
}

Finding scaling_finding(const Study& study, const Cell& cell) {
  const auto& baseline = study.configuration(cell).baseline_ranks;
  if (!baseline || *baseline == cell.ranks || !cell.efficiency.known()) return {};
  const Estimate growth = growth_of(study, cell);
  Finding out{{}, {{"baseline_ranks", *baseline}, {"ranks", cell.ranks}}, "speedup"};
  const std::string from_to = fmt::format("from {} to {}", counted(*baseline, "rank"), counted(cell.ranks, "rank"));
  if (!growth.interval) {
    out.text = fmt::format("Too few values for a speedup {}: measure 6 steps, or repeat the runs.", from_to);
    return out;
  }
  out.evidence.add({"ratio", growth});
  if (shows_no_difference(growth)) {
    out.text =
        fmt::format("No measurable speedup {} ({}, {} scaling).", from_to, times_text(growth), text_of(study.scaling));
    return out;
  }
  out.evidence.add({"efficiency", cell.efficiency});
  const SpeedText speed = speed_text(growth);
  const bool is_one = cell.ranks == 1;
  if (speed.is_slower) out.evidence.add({"time_ratio", speed.shown});
  out.text = fmt::format(
      "{} {} {} as {} (95 % interval {}, {} scaling): efficiency {} ({}).", counted(cell.ranks, "rank"),
      speed.is_slower ? (is_one ? "takes" : "take") : (is_one ? "is" : "are"), speed.times, *baseline, speed.range,
      text_of(study.scaling), significant(cell.efficiency.value, 3), range_text(cell.efficiency, 3));
  return out;
}

Finding limit_finding(const Study& study, const Cell& cell) {
  const double computing = cell.computing_share(), input = cell.data_wait_share + cell.share(Phase::transfer);
  const std::string of = study.configurations.size() == 1 ? "on " + ranks_text(cell) : "of " + name_of(study, cell);
  Finding out{fmt::format("A step {} (median {} ms) {}.", of, significant(1000 * cell.step_time.value),
                          bottleneck({Part{"computing", computing}, Part{"waiting for collectives", cell.exposed_share},
                                      Part{"waiting for data or copying it", input}})),
              {{"step_ms", 1000 * cell.step_time.value},
               {"ranks", cell.ranks},
               {"fewest_ranks", cell.fewest_ranks},
               {"computing", computing},
               {"communication", cell.exposed_share},
               {"input", input}},
              "bottleneck"};
  add_computing_growth(study, cell, out);
  return out;
}

/// A straggler is found by an interval, which median_interval() has from 6 steps on.
bool can_find_stragglers(const Study& study, const Cell& cell) {
  return std::ranges::any_of(cell.measured, [&](std::size_t run) {
    const auto& ranks = study.runs[run].rank_reports;
    return !ranks.empty() && ranks.front().own.interval;
  });
}

std::map<int, int> stragglers_of(const Cell& cell) {
  std::map<int, int> slow;
  for (const auto& [rank, repeats] : cell.stragglers)
    // A rank that is slow in one repeat of three was disturbed; a slow device is slow in most.
    if (2 * repeats > cell.num_repeats()) slow.emplace(rank, repeats);
  return slow;
}

std::string stragglers_text(const Study& study, const Cell& cell) {
  std::vector<std::string> slow;
  for (const auto& [rank, repeats] : stragglers_of(cell))
    slow.push_back(fmt::format("rank {} (in {} of {})", rank, repeats, counted(cell.num_repeats(), "run")));
  if (!slow.empty()) return "stragglers: " + join(slow, ", ");
  return can_find_stragglers(study, cell) ? "no stragglers" : "too few steps to detect stragglers";
}

Finding ranks_finding(const Study& study, const Cell& cell) {
  if (cell.ranks < 2) return {};
  Finding out{{}, {{"ranks", cell.ranks}, {"spread", cell.rank_spread}}, "ranks"};
  for (const auto& [rank, repeats] : stragglers_of(cell))
    out.evidence.add({fmt::format("repeats_of_rank_{}", rank), repeats});
  out.text = fmt::format("On {} the slowest rank's own work takes {}× as long as the fastest's; {}.", ranks_text(cell),
                         alike(cell.rank_spread, cell.rank_spread, 3), stragglers_text(study, cell));
  return out;
}

Finding loss_finding(const Study& study, const std::vector<const Cell*>& cells) {
  double least = INFINITY, most = -INFINITY;
  std::set<std::int64_t> steps;
  int num_runs = 0;
  for (const Cell* cell : cells)
    for (const std::size_t index : cell->measured) {
      const MetricSeries* loss = study.runs[index].metric("train_loss");
      if (!loss) continue;
      least = std::min(least, loss->values.back());
      most = std::max(most, loss->values.back());
      steps.insert(loss->steps.back());
      ++num_runs;
    }
  if (num_runs == 0) return {};
  Finding out{{}, {{"least", least}, {"most", most}, {"runs", num_runs}}, "same_loss"};
  const std::int64_t step = *steps.begin();
  if (steps.size() == 1) out.evidence.add({"step", step});
  const std::string runs = counted(num_runs, "run");
  if (num_runs == 1)
    out.text = fmt::format("The last training loss is {} (step {}).", significant(most), step);
  else if (steps.size() > 1)
    out.text = fmt::format("The last training losses lie between {} and {}, after different numbers of steps.",
                           significant(least), significant(most));
  else if (most == least)
    out.text = fmt::format("At step {} the training losses of {} are equal: {}.", step, runs, significant(most));
  else
    out.text = fmt::format("At step {} the training losses of {} lie between {} and {} ({} apart).", step, runs,
                           significant(least), significant(most), percent((most - least) / most));
  return out;
}

Finding failures_finding(const Study& study) {
  Finding out{{}, {{"runs", study.runs.size()}}, "failures"};
  std::vector<std::string> parts;
  for (const char* status : {"failed", "stopped"}) {
    const auto number = std::ranges::count_if(study.runs, [&](const RunReport& run) { return run.status == status; });
    out.evidence.add({status, number});
    if (number) parts.push_back(fmt::format("{} {}", number, status));
  }
  if (!parts.empty())
    out.text = fmt::format("Of {}, {}; the table of runs says why.",
                           counted(static_cast<long>(study.runs.size()), "run"), join(parts, " and "));
  return out;
}

Finding early_stops_finding(const Study& study) {
  // Of the runs that ended early: sorted, with repetitions.
  std::multiset<std::int64_t> steps;
  for (const RunReport& run : study.runs)
    if (run.early_stop_step) steps.insert(*run.early_stop_step);
  if (steps.empty()) return {};
  const std::int64_t first = *steps.begin(), last = *steps.rbegin();
  const std::string when = first == last ? fmt::format("after step {}", last)
                                         : fmt::format("after steps {} to {}, see the table of runs", first, last);
  const auto all = static_cast<long>(study.runs.size());
  const std::string who =
      all == 1 ? "The run ended" : fmt::format("Of {}, {} ended", counted(all, "run"), steps.size());
  return {fmt::format("{} early, when evaluations no longer improved (evaluate.patience): {}.", who, when),
          {{"runs", all}, {"early", steps.size()}, {"first", first}, {"last", last}},
          "early_stops"};
}

std::string interval_text(const Estimate& estimate, int digits) {
  if (!estimate.interval) {
    if (estimate.num_values == 0) return {};
    return " (too few values for an interval)";
  }
  const std::string over = estimate.basis == Basis::repeats ? counted(estimate.num_values, "repeat")
                                                            : counted(estimate.num_values, "step") + " of one run";
  return fmt::format(" (95 % interval {} over {})", range_text(estimate, digits), over);
}

}  // namespace multicard::post
