#include "postproc/study/Answer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Findings.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

constexpr const char* kNoAnswer = "No run completed with a measured step, so there is no answer.";

const Configuration& configuration_of(const Study& study, const Cell& cell) {
  return study.configurations[cell.configuration];
}

std::string rate_text(const Study& study, const Cell& cell) {
  return fmt::format("{} {}{}", significant(cell.rate.value), study.rate_unit(), interval_text(cell.rate));
}

/// Settings that only change what is learnt: "learning rate and weight decay".
std::string learning_settings(const Study& study) {
  std::vector<std::string> names;
  for (const Axis& axis : study.axes)
    if (axis.is_learning) names.push_back(study.keys.label(axis.key));
  return join(names, " and ");
}

/// The answer where speed does not decide: what learns best, and that the rates are about the same.
std::vector<std::string> learning_answer(const Study& study, const std::vector<std::size_t>& configurations,
                                         const Cell& best) {
  double least = best.rate.value;
  for (const std::size_t configuration : configurations)
    if (const Cell* cell = study.cell(configuration, best.ranks);
        cell && cell->status == CellStatus::complete && cell->rate.value < least)
      least = cell->rate.value;
  return {
      fmt::format("Of {}, {}.", counted(static_cast<long>(configurations.size()), "configuration"),
                  learning_clause(study, configurations)),
      fmt::format("They differ in {}, which does not change the work: {} to {} {} on {} does not decide between them.",
                  learning_settings(study), significant(least), significant(best.rate.value), study.rate_unit(),
                  counted(best.ranks, "rank"))};
}

std::vector<std::string> answer(const Study& study, const std::vector<std::size_t>& configurations) {
  const Cell* best = fastest(study, configurations);
  if (!best) return {kNoAnswer};
  std::vector<std::string> out;
  const std::string rate = rate_text(study, *best);
  const std::string name = name_of(study, *best);
  const bool speed_decides = !differ_in_learning_alone(study, configurations);
  if (!speed_decides)
    out = learning_answer(study, configurations, *best);
  else
    out.push_back(configurations.size() > 1
                      ? fmt::format("The fastest of {} is {}: {}.",
                                    counted(static_cast<long>(configurations.size()), "configuration"), name, rate)
                      : fmt::format("{} does {}.", name, rate));
  const Cell* second = runner_up(study, configurations, *best);
  const Cell* baseline = baseline_cell(study, configurations, *best);
  if (second) out.push_back(comparison_sentence(study, *best, *second, "the runner-up"));
  if (baseline && baseline != second) out.push_back(comparison_sentence(study, *best, *baseline, "the baseline"));
  if (speed_decides && !learning_settings(study).empty())
    out.push_back(fmt::format("Speed does not choose the {}: {}.", learning_settings(study),
                              learning_clause(study, configurations)));
  if (const std::string scaling = scaling_sentence(study, *best); !scaling.empty()) out.push_back(scaling);
  out.push_back(limit_sentence(study, *best));
  return out;
}

/// ", 1.12 times the runner-up (tuned, ddp-ds)", or that the difference is within noise.
std::string short_comparison(const Study& study, const Cell& best, const Cell& other, const std::string& role) {
  const std::string& name = configuration_of(study, other).label;
  if (!significantly_different(best.rate, other.rate)) return fmt::format("; within noise of {} ({})", role, name);
  return fmt::format("; {} times {} ({})", alike(best.rate.value / other.rate.value, 1, 3), role, name);
}

std::string short_answer(const Study& study, const std::vector<std::size_t>& configurations) {
  const std::string& work = study.configurations[configurations.front()].work_label;
  const Cell* best = fastest(study, configurations);
  if (!best) return fmt::format("{}: {}", work, kNoAnswer);
  const Cell* second = runner_up(study, configurations, *best);
  const Cell* baseline = baseline_cell(study, configurations, *best);
  const Configuration& options = configuration_of(study, *best);
  const std::string label = speed_label(study, best->configuration);
  std::string out = fmt::format("{}: {}on {}, {}", work, label.empty() ? label : label + " ",
                                counted(best->ranks, "rank"), rate_text(study, *best));
  if (second) out += short_comparison(study, *best, *second, "the runner-up");
  if (baseline && baseline != second) out += short_comparison(study, *best, *baseline, "the baseline");
  if (best->efficiency.known() && best->ranks != *options.baseline_ranks)
    out += fmt::format("; efficiency {}", significant(best->efficiency.value, 3));
  if (!learning_settings(study).empty() && configurations.size() > 1)
    out += "; " + learning_clause(study, configurations);
  return out + ".";
}

/// The fastest options of one kind of work.
struct Winner {
  std::string name;
  bool is_clear = true;  ///< significantly faster than the runner-up
};

/// What to add where not all wins of `name` are significant.
std::string clearness_of(const std::vector<Winner>& winners, const std::string& name) {
  int num_wins = 0, num_clear = 0;
  for (const Winner& winner : winners)
    if (winner.name == name) {
      ++num_wins;
      num_clear += winner.is_clear ? 1 : 0;
    }
  if (num_clear == num_wins) return {};
  if (num_clear == 0) return ", within noise of the runner-up";
  return fmt::format(", clearly for {} of them, else within noise of the runner-up", num_clear);
}

}  // namespace

std::vector<std::string> answer(const Study& study) {
  return answer(study, study.comparable().front());
}

std::vector<std::string> answers_by_work(const Study& study) {
  std::vector<std::string> out;
  for (const std::vector<std::size_t>& configurations : study.comparable())
    out.push_back(short_answer(study, configurations));
  return out;
}

std::string winners_sentence(const Study& study) {
  std::vector<Winner> winners;
  for (const auto& configurations : study.comparable())
    if (const Cell* best = fastest(study, configurations)) {
      const Cell* second = runner_up(study, configurations, *best);
      const std::string label = speed_label(study, best->configuration);
      winners.push_back({label.empty() ? configuration_of(study, *best).label : label,
                         !second || significantly_different(best->rate, second->rate)});
    }
  if (winners.empty()) return kNoAnswer;
  if (std::none_of(study.configurations.begin(), study.configurations.end(),
                   [](const Configuration& configuration) { return configuration.has_options; }))
    return fmt::format("Every kind of work was done with the same options, {}", winners.front().name);
  const auto groups = study.comparable();
  const auto one_speed = [&](const auto& group) { return differ_in_learning_alone(study, group); };
  if (std::all_of(groups.begin(), groups.end(), one_speed))
    return fmt::format("Each kind of work was done with several values of {}, which do not change its speed",
                       learning_settings(study));
  const auto wins = [&](const std::string& name) {
    return std::count_if(winners.begin(), winners.end(), [&](const Winner& winner) { return winner.name == name; });
  };
  const std::string most = std::max_element(winners.begin(), winners.end(), [&](const Winner& a, const Winner& b) {
                             return wins(a.name) < wins(b.name);
                           })->name;
  if (2 * wins(most) <= static_cast<std::ptrdiff_t>(winners.size()))
    return "Which options are the fastest depends on the work";
  const std::string clearness = clearness_of(winners, most);
  if (wins(most) < static_cast<std::ptrdiff_t>(winners.size()) || winners.size() == 1)
    return fmt::format("{} is the fastest for {} of {} kinds of work{}", most, wins(most), winners.size(), clearness);
  if (winners.size() == 2) return fmt::format("{} is the fastest for both kinds of work{}", most, clearness);
  return fmt::format("{} is the fastest for all {} kinds of work{}", most, winners.size(), clearness);
}

}  // namespace multicard::post
