#include "postproc/Findings.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Axes.hpp"
#include "postproc/Labels.hpp"

namespace multicard::post {

namespace {

bool counts(const Cell* cell) {
  return cell && cell->status == CellStatus::complete && cell->rate.known();
}

const Configuration& configuration_of(const Study& study, const Cell& cell) {
  return study.configurations[cell.configuration];
}

bool is_plain(const Configuration& configuration) {
  return std::any_of(configuration.settings.begin(), configuration.settings.end(), [](const auto& setting) {
    return short_key(setting.first) == "case" && (setting.second == "plain" || setting.second == "baseline");
  });
}

bool is_dp(const Configuration& configuration) {
  return std::any_of(configuration.settings.begin(), configuration.settings.end(), [](const auto& setting) {
    return short_key(setting.first) == "strategy" && setting.second == "dp";
  });
}

std::vector<std::string> answer(const Study& study, const std::vector<std::size_t>& configurations) {
  const Cell* best = fastest(study, configurations);
  if (!best) return {"No run completed with a measured step, so there is no answer."};
  std::vector<std::string> out;
  const std::string rate =
      fmt::format("{} {}{}", significant(best->rate.value), study.rate_unit(), interval_text(best->rate));
  const std::string name = name_of(study, *best);
  out.push_back(configurations.size() > 1
                    ? fmt::format("The fastest of {} is {}: {}.",
                                  counted(static_cast<long>(configurations.size()), "configuration"), name, rate)
                    : fmt::format("{} does {}.", name, rate));
  const Cell* second = runner_up(study, configurations, *best);
  const Cell* plain = plainest(study, configurations, *best);
  if (second) out.push_back(comparison_sentence(study, *best, *second, "the second"));
  if (plain && plain != second) out.push_back(comparison_sentence(study, *best, *plain, "the plainest"));
  if (const std::string scaling = scaling_sentence(study, *best); !scaling.empty()) out.push_back(scaling);
  out.push_back(limit_sentence(study, *best));
  return out;
}

/// Where a step waits, if anywhere worth mentioning.
std::string culprit(const Cell& cell) {
  constexpr double kWorthMentioning = 0.1;
  const double data = cell.share(Phase::data_wait) + cell.share(Phase::transfer);
  if (std::max(data, cell.exposed_share) < kWorthMentioning) return "computing itself limits it";
  return data > cell.exposed_share ? "input limits it before anything else"
                                   : "communication limits it before anything else";
}

/// Why efficiency is lost although ranks do not wait.
std::string computing_growth(const Study& study, const Cell& cell) {
  constexpr double kWorthMentioning = 1.1;
  const auto& baseline_ranks = configuration_of(study, cell).baseline_ranks;
  if (!baseline_ranks || *baseline_ranks == cell.ranks) return {};
  const double growth = compute_cost(cell) / compute_cost(*study.cell(cell.configuration, *baseline_ranks));
  if (!(growth > kWorthMentioning)) return {};
  return fmt::format(
      " One of the {} needs {} times the computing time it takes on {}: look at shared cores, memory bandwidth or "
      "batches that became small.",
      study.unit, significant(growth, 3), counted(*baseline_ranks, "rank"));
}

}  // namespace

const Cell* fastest(const Study& study, const std::vector<std::size_t>& configurations) {
  const Cell* best = nullptr;
  for (const std::size_t configuration : configurations)
    for (const Cell* cell : study.cells_of(configuration))
      if (counts(cell) && (!best || cell->rate.value > best->rate.value)) best = cell;
  return best;
}

const Cell* runner_up(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best) {
  const Cell* second = nullptr;
  for (const std::size_t configuration : configurations) {
    const Cell* cell = study.cell(configuration, best.ranks);
    if (configuration != best.configuration && counts(cell) && (!second || cell->rate.value > second->rate.value))
      second = cell;
  }
  return second;
}

const Cell* plainest(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best) {
  std::size_t chosen = configurations.front();
  for (const auto& matches : {is_dp, is_plain})
    for (const std::size_t configuration : configurations)
      if (matches(study.configurations[configuration])) {
        chosen = configuration;
        break;
      }
  const Cell* cell = study.cell(chosen, best.ranks);
  return chosen != best.configuration && counts(cell) ? cell : nullptr;
}

const Cell* largest(const Study& study, std::size_t configuration) {
  const Cell* most = nullptr;
  for (const Cell* cell : study.cells_of(configuration))
    if (counts(cell)) most = cell;
  return most;
}

std::vector<std::vector<std::string>> answers(const Study& study) {
  std::vector<std::vector<std::string>> out;
  for (const std::vector<std::size_t>& configurations : study.comparable())
    out.push_back(answer(study, configurations));
  return out;
}

std::string comparison_sentence(const Study& study, const Cell& best, const Cell& other, const std::string& role) {
  const Estimate quotient = ratio(best.rate, other.rate);
  const std::string name = configuration_of(study, other).label;
  const std::string factor = significant(quotient.value, 3);
  if (!quotient.interval)
    return fmt::format("It does {} times the rate of {}, {}, with too few values for an interval.", factor, role, name);
  const std::string range = range_text(quotient, 3);
  if (!differ(best.rate, other.rate))
    return fmt::format(
        "Against {}, {}, it measures {} times the rate ({}), but the intervals overlap: the data do not "
        "tell the two apart.",
        role, name, factor, range);
  if (quotient.basis == Basis::steps)
    return fmt::format(
        "It does {} times the rate of {}, {} ({} over the steps of single runs; how repeats would differ "
        "is not known).",
        factor, role, name, range);
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
                     culprit(cell), computing_growth(study, cell));
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

std::string name_of(const Study& study, const Cell& cell) {
  return fmt::format("{} on {}", configuration_of(study, cell).full_label(), counted(cell.ranks, "rank"));
}

std::string interval_text(const Estimate& estimate, int digits) {
  if (!estimate.interval) {
    if (estimate.num_values == 0) return {};
    return fmt::format(" (no interval: {} only)", counted(estimate.num_values, "measured step"));
  }
  const std::string over = estimate.basis == Basis::repeats ? counted(estimate.num_values, "repeat")
                                                            : counted(estimate.num_values, "step") + " of one run";
  return fmt::format(" (95 % interval {} over {})", range_text(estimate, digits), over);
}

double compute_cost(const Cell& cell) {
  const double computing = cell.phases[static_cast<std::size_t>(Phase::forward)] +
                           cell.phases[static_cast<std::size_t>(Phase::backward)] +
                           cell.phases[static_cast<std::size_t>(Phase::update)];
  return computing * cell.ranks / (cell.rate.value * cell.step_time.value);
}

const RunReport& representative(const Study& study, const Cell& cell) {
  std::vector<std::size_t> runs = cell.measured;
  std::sort(runs.begin(), runs.end(),
            [&](std::size_t a, std::size_t b) { return study.runs[a].rate.value < study.runs[b].rate.value; });
  return study.runs[runs[runs.size() / 2]];
}

std::size_t style_of(const Study& study, std::size_t configuration) {
  std::vector<std::string> labels;
  for (const Configuration& candidate : study.configurations)
    if (std::find(labels.begin(), labels.end(), candidate.label) == labels.end()) labels.push_back(candidate.label);
  return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), study.configurations[configuration].label) -
                                  labels.begin());
}

}  // namespace multicard::post
