#include "postproc/study/Findings.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

const Configuration& configuration_of(const Study& study, const Cell& cell) {
  return study.configurations[cell.configuration];
}

/// The bottleneck of a step.
std::string bottleneck(const Cell& cell) {
  constexpr double kWorthMentioning = 0.1;
  const double data = cell.share(Phase::data_wait) + cell.share(Phase::transfer);
  if (std::max(data, cell.exposed_share) < kWorthMentioning) return "the bottleneck is computing";
  return data > cell.exposed_share ? "the bottleneck is input" : "the bottleneck is communication";
}

/// Why efficiency is lost although ranks do not wait.
std::string computing_growth(const Study& study, const Cell& cell) {
  constexpr double kWorthMentioning = 1.1;
  const auto& baseline_ranks = configuration_of(study, cell).baseline_ranks;
  if (!baseline_ranks || *baseline_ranks == cell.ranks) return {};
  const double growth = compute_cost(cell) / compute_cost(*study.cell(cell.configuration, *baseline_ranks));
  if (!(growth > kWorthMentioning)) return {};
  return fmt::format(
      " Compute per {} costs {}× more than on {}. Check shared cores, memory bandwidth, small per-rank batches.",
      study.unit.substr(0, study.unit.size() - 1), significant(growth, 3), counted(*baseline_ranks, "rank"));
}

}  // namespace

std::string repeats_sentence(const Study& study) {
  const bool once = std::any_of(study.cells.begin(), study.cells.end(),
                                [](const Cell& cell) { return cell.rate.basis == Basis::steps; });
  const bool never_twice = std::none_of(study.cells.begin(), study.cells.end(),
                                        [](const Cell& cell) { return cell.rate.basis == Basis::repeats; });
  if (!once) return {};
  if (study.cells.size() == 1) return "One run only: the interval excludes run-to-run variation.";
  return never_twice ? "One run of each only: the intervals exclude run-to-run variation."
                     : "Some were run once: their intervals exclude run-to-run variation.";
}

std::string comparison_sentence(const Study& study, const Cell& best, const Cell& other, const std::string& role) {
  const Estimate quotient = ratio(best.rate, other.rate);
  const std::string name = configuration_of(study, other).label;
  const std::string factor = alike(quotient.value, quotient.value, 3);
  if (!quotient.interval)
    return fmt::format("It does {} times the rate of {}, {}, with too few values for an interval.", factor, role, name);
  const std::string range = range_text(quotient, 3);
  if (!significantly_different(best.rate, other.rate))
    return fmt::format(
        "Against {}, {}, it measures {} times the rate ({}), but the intervals overlap: the two are not "
        "significantly different.",
        role, name, factor, range);
  if (quotient.basis == Basis::steps)
    return fmt::format("It does {} times the rate of {}, {} ({} within single runs).", factor, role, name, range);
  return fmt::format("It does {} times the rate of {}, {} (95 % interval {}).", factor, role, name, range);
}

std::string scaling_sentence(const Study& study, const Cell& cell) {
  const auto& baseline = configuration_of(study, cell).baseline_ranks;
  if (!baseline || *baseline == cell.ranks || !cell.efficiency.known()) return {};
  return fmt::format("From {} to {} ({} scaling) its rate grows {} times: efficiency {}{}.", counted(*baseline, "rank"),
                     counted(cell.ranks, "rank"), text_of(study.scaling),
                     significant(cell.speedup.value / *baseline, 3), significant(cell.efficiency.value, 3),
                     interval_text(cell.efficiency, 3));
}

std::string limit_sentence(const Study& study, const Cell& cell) {
  const double computing = cell.share(Phase::forward) + cell.share(Phase::backward) + cell.share(Phase::update);
  return fmt::format("A step of {} ms ({}) spends {} computing, {} waiting for collectives and {} on data: {}.{}",
                     significant(1000 * cell.mean_step, 3), name_of(study, cell), percent(computing),
                     percent(cell.exposed_share), percent(cell.data_wait_share + cell.share(Phase::transfer)),
                     bottleneck(cell), computing_growth(study, cell));
}

std::string ranks_sentence(const Study& study, const Cell& cell) {
  if (cell.ranks < 2) return fmt::format("{}: one rank, nothing to compare.", name_of(study, cell));
  std::vector<std::string> slow;
  for (const auto& [rank, repeats] : cell.stragglers)
    slow.push_back(fmt::format("rank {} (in {} of {})", rank, repeats, counted(cell.num_repeats(), "run")));
  const std::string spread =
      fmt::format("the slowest rank's own work takes {} times the fastest's", significant(cell.rank_spread, 3));
  const std::string name = name_of(study, cell);
  if (slow.empty()) return fmt::format("{}: {}; no rank is a straggler.", name, spread);
  return fmt::format("{}: {}; stragglers: {}.", name, spread, join(slow, ", "));
}

std::string loss_sentence(const Study& study, const std::vector<const Cell*>& cells) {
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
  if (num_runs == 1) return fmt::format("The last training loss is {} (step {}).", significant(most), steps);
  if (!same_steps)
    return fmt::format("The last training losses lie between {} and {}, after different numbers of steps.",
                       significant(least), significant(most));
  if (most == least)
    return fmt::format("At step {} the training losses of {} are equal: {}.", steps, counted(num_runs, "run"),
                       significant(most));
  return fmt::format("At step {} the training losses of {} lie between {} and {} ({} apart).", steps,
                     counted(num_runs, "run"), significant(least), significant(most), percent((most - least) / most));
}

std::string failures_sentence(const Study& study) {
  std::vector<std::string> parts;
  for (const char* status : {"failed", "stopped"}) {
    const auto number =
        std::count_if(study.runs.begin(), study.runs.end(), [&](const RunReport& run) { return run.status == status; });
    if (number) parts.push_back(fmt::format("{} {}", number, status));
  }
  if (parts.empty()) return {};
  return fmt::format("Of {}, {}: see the table of runs; figures show a cross in their place.",
                     counted(static_cast<long>(study.runs.size()), "run"), join(parts, " and "));
}

std::string early_stops_sentence(const Study& study) {
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
  return fmt::format("{} early, when evaluations no longer improved (evaluate.patience): {}.", who, when);
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
