#include "postproc/study/Answer.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/NoAnswer.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/StudyFindings.hpp"
#include "postproc/study/TrainingAnswer.hpp"

namespace multicard::post {

namespace {

std::string rate_text(const Study& study, const Cell& cell) {
  return fmt::format("{} {}{}", significant(cell.rate.value), study.rate_unit(), interval_text(cell.rate));
}

Evidence evidence_of(const Cell& cell) {
  return {{"rate", cell.rate}, {"values", cell.rate.num_values}, {"ranks", cell.ranks}};
}

/// How many of `configurations` completed on any number of ranks.
long num_completed(const Study& study, const std::vector<std::size_t>& configurations) {
  return std::ranges::count_if(configurations, [&](std::size_t i) { return largest(study, i) != nullptr; });
}

/// The fastest cell with other options, on any number of ranks; null where there is none.
const Cell* fastest_other(const Study& study, std::vector<std::size_t> configurations, const Cell& best) {
  std::erase_if(configurations, [&](std::size_t i) { return same_speed(study, i, best.configuration); });
  return fastest(study, configurations);
}

/// Configurations that do the same work, with the cells that their findings are about.
struct Contest {
  const Study& study;
  const std::vector<std::size_t>& configurations;
  const Cell& best;
  const Cell *second, *baseline;  ///< null where there are none
  bool speed_decides;             ///< they differ in more than what is learnt
};

/// Configurations that differ in what is learnt only: the test set chooses, not speed.
Finding learning_winner(const Contest& of) {
  if (of.speed_decides) return {};
  const auto number = static_cast<long>(of.configurations.size());
  Finding out{fmt::format("Of {}, {}.", counted(number, "configuration"), learning_clause(of.study, of.configurations)),
              learning_evidence(of.study, of.configurations), "best_learner"};
  out.evidence.add({"configurations", number});
  return out;
}

/// Their rates on as many ranks, to show that speed does not choose.
Finding rates_alike(const Contest& of) {
  if (of.speed_decides || num_completed(of.study, of.configurations) < 2) return {};
  double least = of.best.rate.value;
  for (const std::size_t configuration : of.configurations)
    if (const Cell* cell = of.study.cell(configuration, of.best.ranks);
        cell && cell->status == CellStatus::complete && cell->rate.value < least)
      least = cell->rate.value;
  return {fmt::format("They differ in {}, which does not change the work: {} to {} {} on {} does not decide between "
                      "them.",
                      learning_settings(of.study), significant(least), significant(of.best.rate.value),
                      of.study.rate_unit(), counted(of.best.ranks, "rank")),
          {{"least", least}, {"most", of.best.rate.value}, {"ranks", of.best.ranks}},
          "rates_alike"};
}

/// Without the settings that only change what is learnt.
std::string short_name(const Contest& of) {
  const std::string label = speed_label(of.study, of.best.configuration);
  return label.empty() ? name_of(of.study, of.best) : fmt::format("{} on {}", label, ranks_text(of.best));
}

/// "5 configurations", "the 4 of 5 configurations that completed": what did not complete may have been the fastest.
std::string field_of(long completed, long all) {
  if (completed == all) return counted(all, "configuration");
  return fmt::format("the {} of {} that completed", completed, counted(all, "configuration"));
}

/// A claim only where the runner-up, on as many ranks, and the fastest other options, on any, are measurably slower.
Finding fastest_finding(const Contest& of) {
  if (!of.speed_decides) return {};
  const long completed = num_completed(of.study, of.configurations);
  const Cell* const other = fastest_other(of.study, of.configurations, of.best);
  const auto is_slower = [&](const Cell* cell) { return cell && significantly_different(of.best.rate, cell->rate); };
  const std::string name = name_of(of.study, of.best), rate = rate_text(of.study, of.best);
  const auto number = static_cast<long>(of.configurations.size());
  const std::string all = field_of(completed, number);
  Finding out{{}, evidence_of(of.best), "fastest"};
  out.evidence.add({{"configurations", completed}, {"all_configurations", number}});
  if (completed == 1)
    out.text = fmt::format("Only one of {} completed, {}: {}.", counted(number, "configuration"), name, rate);
  else if (is_slower(other) && (!of.second || is_slower(of.second)))
    out.text = fmt::format("The fastest of {} is {}: {}.", all, name, rate);
  else
    out.text =
        fmt::format("No clear winner among {}: {} has the highest rate measured, {}.", all, short_name(of), rate);
  return out;
}

Finding runner_up_finding(const Contest& of) {
  return of.second ? comparison_finding(of.study, of.best, *of.second, "runner-up") : Finding{};
}

Finding baseline_finding(const Contest& of) {
  if (!of.baseline || of.baseline == of.second) return {};
  return comparison_finding(of.study, of.best, *of.baseline, "baseline");
}

/// Where both speed and learning vary: the best score, which speed does not choose.
Finding unchosen_learner(const Contest& of) {
  if (!of.speed_decides || learning_settings(of.study).empty()) return {};
  return {fmt::format("Speed does not choose the {}: {}.", learning_settings(of.study),
                      learning_clause(of.study, of.configurations)),
          learning_evidence(of.study, of.configurations), "best_learner"};
}

/// The cell whose scaling is of interest: `best`, or where that is on the fewest ranks the one on most.
const Cell& scaled(const Study& study, const Cell& best) {
  const bool is_baseline = best.ranks == *study.configuration(best).baseline_ranks;
  return is_baseline ? *largest(study, best.configuration) : best;
}

Finding speedup_finding(const Contest& of) {
  return scaling_finding(of.study, scaled(of.study, of.best));
}

Finding bottleneck_finding(const Contest& of) {
  return limit_finding(of.study, of.best);
}

/// Of a single configuration: there is nothing to be faster than.
Finding rate_finding(const Contest& of) {
  return {
      fmt::format("{} {} {}.", ranks_text(of.best), of.best.ranks == 1 ? "does" : "do", rate_text(of.study, of.best)),
      evidence_of(of.best), "rate"};
}

Finding scaled_bottleneck(const Contest& of) {
  return limit_finding(of.study, scaled(of.study, of.best));
}

using ContestRule = Finding (*)(const Contest&);

/// What is said of one configuration, and of several; rules that do not apply say nothing.
constexpr ContestRule kOneRules[] = {speedup_finding, rate_finding, scaled_bottleneck};
constexpr ContestRule kSeveralRules[] = {learning_winner,  rates_alike,      fastest_finding, runner_up_finding,
                                         baseline_finding, unchosen_learner, speedup_finding, bottleneck_finding};

Findings answer(const Study& study, const std::vector<std::size_t>& configurations) {
  const Cell* best = fastest(study, configurations);
  if (!best) return {no_answer_finding(study, configurations)};
  const Contest contest{study,
                        configurations,
                        *best,
                        runner_up(study, configurations, *best),
                        baseline_cell(study, configurations, *best),
                        !differ_in_learning_alone(study, configurations)};
  const bool is_one = configurations.size() == 1;
  Findings out;
  for (const ContestRule rule : is_one ? std::span<const ContestRule>(kOneRules) : kSeveralRules)
    if (Finding finding = rule(contest); !finding.empty()) out.push_back(std::move(finding));
  return out;
}

/// ", 1.12 times the runner-up (tuned, ddp-ds)", or that no difference was measured.
std::string short_comparison(const Study& study, const Cell& best, const Cell& other, const std::string& role,
                             Evidence& evidence) {
  const std::string& name = study.configuration(other).label;
  if (!significantly_different(best.rate, other.rate))
    return fmt::format("; {} with the {} ({})", no_difference(best.rate, other.rate), role, name);
  const double factor = best.rate.value / other.rate.value;
  evidence.add({role, factor});
  return fmt::format("; {} times the {} ({})", alike(factor, 1, 3), role, name);
}

Finding short_answer(const Study& study, const std::vector<std::size_t>& configurations, std::size_t number) {
  const std::string& work = study.configurations[configurations.front()].work_label;
  const std::string id = fmt::format("work-{}", number);
  const Cell* best = fastest(study, configurations);
  if (!best) {
    const Finding none = no_answer_finding(study, configurations);
    return {fmt::format("{}: {}", work, none.text), none.evidence, id};
  }
  const Cell* second = runner_up(study, configurations, *best);
  const Cell* baseline = baseline_cell(study, configurations, *best);
  const std::string label = speed_label(study, best->configuration);
  Finding out{fmt::format("{}: {}on {}, {}", work, label.empty() ? label : label + " ", counted(best->ranks, "rank"),
                          rate_text(study, *best)),
              evidence_of(*best), id};
  if (second) out.text += short_comparison(study, *best, *second, "runner-up", out.evidence);
  if (baseline && baseline != second) out.text += short_comparison(study, *best, *baseline, "baseline", out.evidence);
  if (best->efficiency.interval && best->ranks != *study.configuration(*best).baseline_ranks) {
    out.evidence.add({"efficiency", best->efficiency});
    out.text += fmt::format("; efficiency {}", with_interval(best->efficiency, 3));
  }
  if (!learning_settings(study).empty() && configurations.size() > 1) {
    out.evidence.add(learning_evidence(study, configurations));
    out.text += "; " + learning_clause(study, configurations);
  }
  out.text += ".";
  return out;
}

}  // namespace

Findings answer(const Study& study) {
  if (Finding training = training_finding(study); !training.empty()) {
    Findings out{std::move(training)};
    if (!study.cells.front().measured.empty()) out.push_back(limit_finding(study, study.cells.front()));
    return out;
  }
  return answer(study, study.comparable().front());
}

Findings answers_by_work(const Study& study) {
  Findings out;
  for (const std::vector<std::size_t>& configurations : study.comparable())
    out.push_back(short_answer(study, configurations, out.size() + 1));
  return out;
}

}  // namespace multicard::post
