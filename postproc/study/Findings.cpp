#include "postproc/study/Findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

constexpr double kWorthMentioning = 0.1;  ///< share of a step

const Configuration& configuration_of(const Study& study, const Cell& cell) {
  return study.configurations[cell.configuration];
}

/// A kind of work of a step, with its share.
struct Part {
  const char* name;
  double share;
};

/// "mostly computing; communication takes 14.3 %"
std::string bottleneck(std::array<Part, 3> parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.share > b.share; });
  std::string out = fmt::format("{} {}", parts[0].share > 0.5 ? "mostly" : "the largest part is", parts[0].name);
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].share >= kWorthMentioning) out += fmt::format("; {} takes {}", parts[i].name, percent(parts[i].share));
  return out;
}

/// Why efficiency is lost although ranks do not wait; only where it is certain that it is lost.
void add_computing_growth(const Study& study, const Cell& cell, Statement& statement) {
  constexpr double kNoticeable = 1.1;
  const auto& baseline_ranks = configuration_of(study, cell).baseline_ranks;
  const auto& efficiency = cell.efficiency.interval;
  if (!baseline_ranks || *baseline_ranks == cell.ranks || !efficiency || efficiency->high >= 1) return;
  const double growth = compute_cost(cell) / compute_cost(*study.cell(cell.configuration, *baseline_ranks));
  if (!(growth > kNoticeable)) return;
  statement.numbers.add("computing_growth", growth).add("baseline_ranks", *baseline_ranks);
  statement.text += fmt::format(
      " Compute per {} costs {}× as much as on {}. Check shared cores, memory bandwidth, small per-rank batches.",
      study.unit.substr(0, study.unit.size() - 1), significant(growth, 3), counted(*baseline_ranks, "rank"));
}

}  // namespace

Statement repeats_statement(const Study& study) {
  const bool once = std::any_of(study.cells.begin(), study.cells.end(),
                                [](const Cell& cell) { return cell.rate.basis == Basis::steps; });
  const bool never_twice = std::none_of(study.cells.begin(), study.cells.end(),
                                        [](const Cell& cell) { return cell.rate.basis == Basis::repeats; });
  if (!once) return {};
  if (study.cells.size() == 1) return {"repeats", "One run only: the interval excludes run-to-run variation."};
  return {"repeats", never_twice ? "One run of each only: the intervals exclude run-to-run variation."
                                 : "Some were run once: their intervals exclude run-to-run variation."};
}

Statement comparison_statement(const Study& study, const Cell& best, const Cell& other, const std::string& role) {
  const Estimate quotient = ratio(best.rate, other.rate);
  const std::string who = fmt::format("the {}, {}", role, configuration_of(study, other).label);
  if (!quotient.interval) return {role, fmt::format("Too few values to compare it with {}.", who)};
  Statement out{role, {}, Numbers().add("ratio", quotient)};
  const std::string range = range_text(quotient, 3);
  if (!significantly_different(best.rate, other.rate)) {
    out.text = fmt::format("No measurable difference from {}: their intervals overlap.", who);
    return out;
  }
  const std::string factor = alike(quotient.value, quotient.value, 3);
  out.text = quotient.basis == Basis::steps
                 ? fmt::format("It does {} times the rate of {} ({} within single runs).", factor, who, range)
                 : fmt::format("It does {} times the rate of {} (95 % interval {}).", factor, who, range);
  return out;
}

std::string times_text(const Estimate& ratio) {
  if (is_too_wide(ratio)) return "an interval too wide to tell";
  return range_text(ratio, 3) + " times the rate";
}

Estimate growth_of(const Study& study, const Cell& cell) {
  const auto& baseline = configuration_of(study, cell).baseline_ranks;
  if (!baseline) return {};
  return ratio(cell.rate, study.cell(cell.configuration, *baseline)->rate);
}

Statement scaling_statement(const Study& study, const Cell& cell) {
  const auto& baseline = configuration_of(study, cell).baseline_ranks;
  if (!baseline || *baseline == cell.ranks || !cell.efficiency.known()) return {};
  const Estimate growth = growth_of(study, cell);
  Statement out{"speedup", {}, Numbers().add("baseline_ranks", *baseline).add("ranks", cell.ranks)};
  const std::string from_to = fmt::format("from {} to {}", counted(*baseline, "rank"), counted(cell.ranks, "rank"));
  if (!growth.interval) {
    out.text = fmt::format("Too few values for a speedup {}: measure 6 steps, or repeat the runs.", from_to);
    return out;
  }
  out.numbers.add("ratio", growth);
  if (verdict(growth) == Verdict::none) {
    out.text =
        fmt::format("No measurable speedup {} ({}, {} scaling).", from_to, times_text(growth), text_of(study.scaling));
    return out;
  }
  const std::string factor = alike(growth.value, growth.value, 3);
  out.numbers.add("efficiency", cell.efficiency);
  out.text =
      fmt::format("{} {} {} times as fast as {} (95 % interval {}, {} scaling): efficiency {} ({}).",
                  counted(cell.ranks, "rank"), cell.ranks == 1 ? "is" : "are", factor, *baseline, range_text(growth, 3),
                  text_of(study.scaling), significant(cell.efficiency.value, 3), range_text(cell.efficiency, 3));
  return out;
}

Statement limit_statement(const Study& study, const Cell& cell) {
  const double computing = cell.share(Phase::forward) + cell.share(Phase::backward) + cell.share(Phase::update);
  const double input = cell.data_wait_share + cell.share(Phase::transfer);
  Statement out{"bottleneck",
                fmt::format("Of a step (median {} ms; {}) {} is computing, {} waiting for collectives and {} waiting "
                            "for data: {}.",
                            significant(1000 * cell.step_time.value), name_of(study, cell), percent(computing),
                            percent(cell.exposed_share), percent(input),
                            bottleneck({Part{"computing", computing}, Part{"communication", cell.exposed_share},
                                        Part{"input", input}})),
                Numbers()
                    .add("step_ms", 1000 * cell.step_time.value)
                    .add("ranks", cell.ranks)
                    .add("fewest_ranks", cell.fewest_ranks)
                    .add("computing", computing)
                    .add("communication", cell.exposed_share)
                    .add("input", input)};
  add_computing_growth(study, cell, out);
  return out;
}

bool tells_stragglers(const Study& study, const Cell& cell) {
  return std::any_of(cell.measured.begin(), cell.measured.end(), [&](std::size_t run) {
    const auto& ranks = study.runs[run].rank_reports;
    return !ranks.empty() && ranks.front().own.interval;
  });
}

std::map<int, int> stragglers_of(const Cell& cell) {
  std::map<int, int> slow;
  for (const auto& [rank, repeats] : cell.stragglers)
    if (2 * repeats > cell.num_repeats()) slow.emplace(rank, repeats);
  return slow;
}

Statement ranks_statement(const Study& study, const Cell& cell) {
  const std::string name = name_of(study, cell);
  if (cell.ranks < 2) return {"ranks", fmt::format("{}: one rank, nothing to compare.", name)};
  Statement out{"ranks", {}, Numbers().add("ranks", cell.ranks).add("spread", cell.rank_spread)};
  std::vector<std::string> slow;
  for (const auto& [rank, repeats] : stragglers_of(cell)) {
    out.numbers.add(fmt::format("repeats_of_rank_{}", rank), repeats);
    slow.push_back(fmt::format("rank {} (in {} of {})", rank, repeats, counted(cell.num_repeats(), "run")));
  }
  const std::string spread =
      fmt::format("the slowest rank's own work takes {} times the fastest's", significant(cell.rank_spread, 3));
  const char* none = tells_stragglers(study, cell) ? "no rank is a straggler" : "too few steps to call one a straggler";
  out.text = slow.empty() ? fmt::format("{}: {}; {}.", name, spread, none)
                          : fmt::format("{}: {}; stragglers: {}.", name, spread, join(slow, ", "));
  return out;
}

Statement loss_statement(const Study& study, const std::vector<const Cell*>& cells) {
  double least = INFINITY, most = -INFINITY;
  std::int64_t steps = -1;
  bool same_steps = true;
  int num_runs = 0;
  for (const Cell* cell : cells)
    for (const std::size_t index : cell->measured) {
      const auto found = study.runs[index].metrics.find("train_loss");
      if (found == study.runs[index].metrics.end() || found->second.values.empty()) continue;
      least = std::min(least, found->second.values.back());
      most = std::max(most, found->second.values.back());
      same_steps = same_steps && (steps < 0 || steps == found->second.steps.back());
      steps = found->second.steps.back();
      ++num_runs;
    }
  if (num_runs == 0) return {};
  Statement out{"same_loss", {}, Numbers().add("least", least).add("most", most).add("runs", num_runs)};
  if (same_steps) out.numbers.add("step", static_cast<double>(steps));
  const std::string runs = counted(num_runs, "run");
  if (num_runs == 1)
    out.text = fmt::format("The last training loss is {} (step {}).", significant(most), steps);
  else if (!same_steps)
    out.text = fmt::format("The last training losses lie between {} and {}, after different numbers of steps.",
                           significant(least), significant(most));
  else if (most == least)
    out.text = fmt::format("At step {} the training losses of {} are equal: {}.", steps, runs, significant(most));
  else
    out.text = fmt::format("At step {} the training losses of {} lie between {} and {} ({} apart).", steps, runs,
                           significant(least), significant(most), percent((most - least) / most));
  return out;
}

Statement failures_statement(const Study& study) {
  Statement out{"failures", {}, Numbers().add("runs", static_cast<double>(study.runs.size()))};
  std::vector<std::string> parts;
  for (const char* status : {"failed", "stopped"}) {
    const auto number =
        std::count_if(study.runs.begin(), study.runs.end(), [&](const RunReport& run) { return run.status == status; });
    out.numbers.add(status, static_cast<double>(number));
    if (number) parts.push_back(fmt::format("{} {}", number, status));
  }
  if (parts.empty()) return {};
  out.text = fmt::format("Of {}, {}: see the table of runs; figures show a cross in their place.",
                         counted(static_cast<long>(study.runs.size()), "run"), join(parts, " and "));
  return out;
}

Statement early_stops_statement(const Study& study) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
  long number = 0;
  for (const RunReport& run : study.runs) {
    if (!run.early_stop_step) continue;
    first = std::min(first, *run.early_stop_step);
    last = std::max(last, *run.early_stop_step);
    ++number;
  }
  if (number == 0) return {};
  const std::string when = first == last ? fmt::format("after step {}", last)
                                         : fmt::format("after steps {} to {}, see the table of runs", first, last);
  const auto all = static_cast<long>(study.runs.size());
  const std::string who = all == 1 ? "The run ended" : fmt::format("Of {}, {} ended", counted(all, "run"), number);
  return {"early_stops",
          fmt::format("{} early, when evaluations no longer improved (evaluate.patience): {}.", who, when),
          Numbers()
              .add("runs", static_cast<double>(all))
              .add("early", static_cast<double>(number))
              .add("first", static_cast<double>(first))
              .add("last", static_cast<double>(last))};
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
