#include "postproc/study/Answer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/DataSets.hpp"
#include "postproc/study/Findings.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/TrainingAnswer.hpp"

namespace multicard::post {

namespace {

constexpr const char* kNoAnswer = "No run completed with a measured step, so there is no answer.";

const Configuration& configuration_of(const Study& study, const Cell& cell) {
  return study.configurations[cell.configuration];
}

std::string rate_text(const Study& study, const Cell& cell) {
  return fmt::format("{} {}{}", significant(cell.rate.value), study.rate_unit(), interval_text(cell.rate));
}

Numbers numbers_of(const Cell& cell) {
  return Numbers().add("rate", cell.rate).add("values", cell.rate.num_values).add("ranks", cell.ranks);
}

/// Settings that only change what is learnt: "learning rate and weight decay".
std::string learning_settings(const Study& study) {
  std::vector<std::string> names;
  for (const Axis& axis : study.axes)
    if (axis.is_learning) names.push_back(study.keys.label(axis.key));
  return join(names, " and ");
}

/// How many of `configurations` completed on any number of ranks.
long num_completed(const Study& study, const std::vector<std::size_t>& configurations) {
  return std::count_if(configurations.begin(), configurations.end(),
                       [&](std::size_t i) { return largest(study, i) != nullptr; });
}

/// The fastest cell with other options, on any number of ranks; null where there is none.
const Cell* fastest_other(const Study& study, std::vector<std::size_t> configurations, const Cell& best) {
  std::erase_if(configurations, [&](std::size_t i) { return same_speed(study, i, best.configuration); });
  return fastest(study, configurations);
}

/// The answer where speed does not decide: what learns best, and that the rates are about the same.
Statements learning_answer(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best) {
  double least = best.rate.value;
  for (const std::size_t configuration : configurations)
    if (const Cell* cell = study.cell(configuration, best.ranks);
        cell && cell->status == CellStatus::complete && cell->rate.value < least)
      least = cell->rate.value;
  const auto number = static_cast<long>(configurations.size());
  Statements out{{"best_learner",
                  fmt::format("Of {}, {}.", counted(number, "configuration"), learning_clause(study, configurations)),
                  learning_numbers(study, configurations).add("configurations", static_cast<double>(number))}};
  if (num_completed(study, configurations) < 2) return out;
  out.push_back(
      {"rates_alike",
       fmt::format("They differ in {}, which does not change the work: {} to {} {} on {} does not decide between "
                   "them.",
                   learning_settings(study), significant(least), significant(best.rate.value), study.rate_unit(),
                   counted(best.ranks, "rank")),
       Numbers().add("least", least).add("most", best.rate.value).add("ranks", best.ranks)});
  return out;
}

/// "fastest" of several configurations: a claim only where the runner-up, on as many ranks, and what is the fastest
/// otherwise, on any, are measurably slower.
Statement fastest_statement(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best,
                            const Cell* second) {
  const long completed = num_completed(study, configurations);
  Statement out{"fastest", {}, numbers_of(best).add("configurations", static_cast<double>(completed))};
  const Cell* const other = fastest_other(study, configurations, best);
  const auto is_slower = [&](const Cell* cell) { return cell && significantly_different(best.rate, cell->rate); };
  const std::string name = name_of(study, best), rate = rate_text(study, best);
  const std::string all = counted(completed, "configuration");
  if (completed == 1)
    out.text = fmt::format("Only {} completed: {}.", name, rate);
  else if (is_slower(other) && (!second || is_slower(second)))
    out.text = fmt::format("The fastest of {} is {}: {}.", all, name, rate);
  else
    out.text = fmt::format("No clear winner among {}: {} measures most, {}.", all, name, rate);
  return out;
}

/// The cell whose scaling is of interest: `best`, or where that is on the fewest ranks the one on most.
const Cell& scaled(const Study& study, const Cell& best) {
  const bool is_baseline = best.ranks == *configuration_of(study, best).baseline_ranks;
  return is_baseline ? *largest(study, best.configuration) : best;
}

/// The answer of one configuration: what more ranks gain, and the rate.
Statements answer_of_one(const Study& study, const Cell& best) {
  Statements out;
  if (Statement speedup = scaling_statement(study, scaled(study, best)); !speedup.empty())
    out.push_back(std::move(speedup));
  out.push_back({"rate", fmt::format("{} does {}.", name_of(study, best), rate_text(study, best)), numbers_of(best)});
  out.push_back(limit_statement(study, scaled(study, best)));
  return out;
}

Statements answer(const Study& study, const std::vector<std::size_t>& configurations) {
  const Cell* best = fastest(study, configurations);
  if (!best) return {{"none", kNoAnswer}};
  if (configurations.size() == 1) return answer_of_one(study, *best);
  Statements out;
  const Cell* second = runner_up(study, configurations, *best);
  const Cell* baseline = baseline_cell(study, configurations, *best);
  const bool speed_decides = !differ_in_learning_alone(study, configurations);
  if (!speed_decides)
    out = learning_answer(study, configurations, *best);
  else
    out.push_back(fastest_statement(study, configurations, *best, second));
  if (second) out.push_back(comparison_statement(study, *best, *second, "runner-up"));
  if (baseline && baseline != second) out.push_back(comparison_statement(study, *best, *baseline, "baseline"));
  if (speed_decides && !learning_settings(study).empty())
    out.push_back({"best_learner",
                   fmt::format("Speed does not choose the {}: {}.", learning_settings(study),
                               learning_clause(study, configurations)),
                   learning_numbers(study, configurations)});
  if (Statement speedup = scaling_statement(study, scaled(study, *best)); !speedup.empty())
    out.push_back(std::move(speedup));
  out.push_back(limit_statement(study, *best));
  return out;
}

/// ", 1.12 times the runner-up (tuned, ddp-ds)", or that no difference was measured.
std::string short_comparison(const Study& study, const Cell& best, const Cell& other, const std::string& role,
                             Numbers& numbers) {
  const std::string& name = configuration_of(study, other).label;
  if (!significantly_different(best.rate, other.rate))
    return fmt::format("; {} with the {} ({})", no_difference(best.rate, other.rate), role, name);
  const double factor = best.rate.value / other.rate.value;
  numbers.add(role, factor);
  return fmt::format("; {} times the {} ({})", alike(factor, 1, 3), role, name);
}

Statement short_answer(const Study& study, const std::vector<std::size_t>& configurations, std::size_t number) {
  const std::string& work = study.configurations[configurations.front()].work_label;
  Statement out{fmt::format("work-{}", number), {}};
  const Cell* best = fastest(study, configurations);
  if (!best) {
    out.text = fmt::format("{}: {}", work, kNoAnswer);
    return out;
  }
  out.numbers = numbers_of(*best);
  const Cell* second = runner_up(study, configurations, *best);
  const Cell* baseline = baseline_cell(study, configurations, *best);
  const Configuration& options = configuration_of(study, *best);
  const std::string label = speed_label(study, best->configuration);
  out.text = fmt::format("{}: {}on {}, {}", work, label.empty() ? label : label + " ", counted(best->ranks, "rank"),
                         rate_text(study, *best));
  if (second) out.text += short_comparison(study, *best, *second, "runner-up", out.numbers);
  if (baseline && baseline != second) out.text += short_comparison(study, *best, *baseline, "baseline", out.numbers);
  if (best->efficiency.interval && best->ranks != *options.baseline_ranks) {
    out.numbers.add("efficiency", best->efficiency);
    out.text += fmt::format("; efficiency {}", with_interval(best->efficiency, 3));
  }
  if (!learning_settings(study).empty() && configurations.size() > 1) {
    out.numbers.add(learning_numbers(study, configurations));
    out.text += "; " + learning_clause(study, configurations);
  }
  out.text += ".";
  return out;
}

/// The fastest options of each kind of work, where they are measurably faster than the others; else empty.
std::vector<std::string> clear_winners(const Study& study) {
  std::vector<std::string> winners;
  for (const auto& configurations : study.comparable()) {
    const Cell* best = fastest(study, configurations);
    if (!best || configurations.size() < 2) continue;
    const Cell* second = runner_up(study, configurations, *best);
    const bool is_clear = second && significantly_different(best->rate, second->rate);
    const std::string label = speed_label(study, best->configuration);
    winners.push_back(!is_clear ? std::string() : label.empty() ? configuration_of(study, *best).label : label);
  }
  return winners;
}

/// "both kinds of work", "all 3 kinds of work"
std::string kinds_text(std::size_t number) {
  return number == 1   ? "the kind of work"
         : number == 2 ? "both kinds of work"
                       : fmt::format("all {} kinds of work", number);
}

std::string winners_text(const std::vector<std::string>& winners, Numbers& numbers) {
  const auto wins = [&](const std::string& name) { return std::count(winners.begin(), winners.end(), name); };
  const auto by_wins = [&](const std::string& a, const std::string& b) {
    return std::pair(!a.empty(), wins(a)) < std::pair(!b.empty(), wins(b));
  };
  const std::string most = *std::max_element(winners.begin(), winners.end(), by_wins);
  const std::size_t all = winners.size();
  numbers.add("kinds", static_cast<double>(all))
      .add("clear_wins", most.empty() ? 0.0 : static_cast<double>(wins(most)));
  if (most.empty()) return fmt::format("No clear winner for {}", all == 1 ? "this kind of work" : kinds_text(all));
  const auto num_wins = static_cast<std::size_t>(wins(most)), open = static_cast<std::size_t>(wins(""));
  if (num_wins == all) return fmt::format("{} is the fastest for {}", most, kinds_text(all));
  if (num_wins + open < all) return "Which options are the fastest depends on the work";
  return fmt::format("{} is the fastest for {} of {} kinds of work; the others have no clear winner", most, num_wins,
                     all);
}

}  // namespace

Statements answer(const Study& study) {
  if (Statement training = training_statement(study); !training.empty()) {
    Statements out{std::move(training)};
    if (!study.cells.front().measured.empty()) out.push_back(limit_statement(study, study.cells.front()));
    return out;
  }
  return answer(study, study.comparable().front());
}

Statements answers_by_work(const Study& study) {
  Statements out;
  for (const std::vector<std::size_t>& configurations : study.comparable())
    out.push_back(short_answer(study, configurations, out.size() + 1));
  return out;
}

Statement winners_statement(const Study& study) {
  const auto groups = study.comparable();
  Statement out{"winners", {}};
  const auto is_done = [&](const auto& group) { return fastest(study, group) != nullptr; };
  if (std::none_of(groups.begin(), groups.end(), is_done)) {
    out.text = kNoAnswer;
    return out;
  }
  const auto one_speed = [&](const auto& group) { return differ_in_learning_alone(study, group); };
  const auto has_options = [](const Configuration& configuration) { return configuration.has_options; };
  const Cell& any = *fastest(study, *std::find_if(groups.begin(), groups.end(), is_done));
  if (std::none_of(study.configurations.begin(), study.configurations.end(), has_options))
    out.text = fmt::format("Every kind of work was done with the same options, {}", configuration_of(study, any).label);
  else if (std::all_of(groups.begin(), groups.end(), one_speed))
    out.text = fmt::format("Each kind of work was done with several values of {}, which do not change its speed",
                           learning_settings(study));
  else if (const std::vector<std::string> winners = clear_winners(study); !winners.empty())
    out.text = winners_text(winners, out.numbers);
  else
    out.text = "Each kind of work was done by one configuration";
  return out;
}

Statements all_answers(const Study& study) {
  Statements out;
  if (study.comparable().size() == 1) {
    out = answer(study);
  } else if (compares_methods(study)) {
    out = memory_limit_statements(study);
  } else {
    out.push_back(winners_statement(study));
    for (Statement& statement : answers_by_work(study))
      out.push_back(std::move(statement));
    if (compares_data_sets(study))
      for (Statement& statement : data_set_statements(study))
        out.push_back(std::move(statement));
  }
  for (Statement statement : {repeats_statement(study), failures_statement(study), early_stops_statement(study)})
    if (!statement.empty()) out.push_back(std::move(statement));
  return out;
}

}  // namespace multicard::post
