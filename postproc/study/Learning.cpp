#include "postproc/study/Learning.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

constexpr LearningScore kAccuracy{"test accuracy", "highest test accuracy", &Cell::test_accuracy, true};
constexpr LearningScore kLoss{"test loss", "lowest test loss", &Cell::test_loss, false};

/// One cell with a score is enough: cells without are left out of comparisons.
bool any_has(const Study& study, const LearningScore& score) {
  return std::ranges::any_of(study.cells, [&](const Cell& cell) { return (cell.*score.member).known(); });
}

std::string none_measured(const char* verb) {
  return fmt::format("no test loss was measured to {} by (evaluate.every_epochs)", verb);
}

/// Whether two configurations would learn the same.
bool same_learning(const Study& study, std::size_t a, std::size_t b) {
  return std::ranges::all_of(study.axes, [&](const Axis& axis) {
    return !axis.is_learning ||
           study.configurations[a].settings.at(axis.key) == study.configurations[b].settings.at(axis.key);
  });
}

/// Whether no configuration of `group` that learns otherwise has the score of `best`.
bool is_alone(const Study& study, const std::vector<std::size_t>& group, const Cell& best) {
  const auto member = learning_score(study)->member;
  return std::ranges::none_of(group, [&](std::size_t i) {
    const auto cells = study.cells_of(i);
    return !same_learning(study, i, best.configuration) && std::ranges::any_of(cells, [&](const Cell* cell) {
      return cell->status == CellStatus::complete && (cell->*member).value == (best.*member).value;
    });
  });
}

/// Which value of `axis` is best how often, over kinds of work that were done with several of them.
std::map<std::string, int> wins_of(const Study& study, const Axis& axis) {
  std::map<std::string, int> wins;
  for (const auto& group : study.comparable()) {
    const auto value = [&](std::size_t i) { return study.configurations[i].settings.at(axis.key); };
    // A kind of work with a single value of this axis had no choice.
    const bool differs = std::ranges::any_of(group, [&](std::size_t i) { return value(i) != value(group.front()); });
    const Cell* best = best_learner(study, group);
    if (differs && best && is_alone(study, group, *best)) ++wins[value(best->configuration)];
  }
  return wins;
}

bool is_repeated(const Study& study) {
  return std::ranges::any_of(study.cells, [](const Cell& cell) { return cell.num_repeats() > 1; });
}

Finding advice_on(const Study& study, const Axis& axis) {
  const std::string id = "learning." + axis.key;
  const std::string lead = fmt::format("{}: it does not change the work, so that speed does not choose; ",
                                       capitalised(study.keys.label(axis.key)));
  const std::map<std::string, int> wins = wins_of(study, axis);
  if (wins.empty()) {
    if (learning_score(study)) return {};  // no kind of work was done with two of its values
    return {lead + none_measured("choose") + ".", {}, id};
  }
  int num_kinds = 0;
  for (const auto& [value, number] : wins)
    num_kinds += number;
  Evidence evidence{{"kinds", num_kinds}};
  std::vector<std::string> parts;
  for (const auto& [value, number] : wins) {
    evidence.add({"wins_of_" + value, number});
    parts.push_back(num_kinds == 1 ? study.keys.label(axis.key, value)
                                   : fmt::format("{} for {} of {} kinds of work", study.keys.label(axis.key, value),
                                                 number, num_kinds));
  }
  return {fmt::format("{}the {} is that of {}{}.", lead, learning_score(study)->best, join(parts, ", "),
                      is_repeated(study) ? "" : " (each was run once)"),
          evidence, id};
}

}  // namespace

std::optional<LearningScore> learning_score(const Study& study) {
  // Accuracy is what classifiers are for; language models have none.
  if (any_has(study, kAccuracy)) return kAccuracy;
  if (any_has(study, kLoss)) return kLoss;
  return std::nullopt;
}

std::string speed_label(const Study& study, std::size_t configuration) {
  std::vector<std::string> parts;
  for (const Axis& axis : study.axes)
    if (!axis.is_work && !axis.is_learning)
      parts.push_back(study.keys.label(axis.key, study.configurations[configuration].settings.at(axis.key)));
  return join(parts, ", ");
}

bool same_speed(const Study& study, std::size_t a, std::size_t b) {
  return std::ranges::all_of(study.axes, [&](const Axis& axis) {
    return axis.is_learning ||
           study.configurations[a].settings.at(axis.key) == study.configurations[b].settings.at(axis.key);
  });
}

bool differ_in_learning_alone(const Study& study, const std::vector<std::size_t>& configurations) {
  return configurations.size() > 1 && std::ranges::all_of(configurations, [&](std::size_t i) {
           return same_speed(study, i, configurations.front());
         });
}

const Cell* best_learner(const Study& study, const std::vector<std::size_t>& configurations) {
  const std::optional<LearningScore> score = learning_score(study);
  const Cell* best = nullptr;
  if (!score) return best;
  for (const std::size_t configuration : configurations)
    for (const Cell* cell : study.cells_of(configuration)) {
      const Estimate& value = cell->*score->member;
      if (cell->status != CellStatus::complete || !value.known()) continue;
      const bool is_better = !best || (score->higher_is_better ? value.value > (best->*score->member).value
                                                               : value.value < (best->*score->member).value);
      if (is_better) best = cell;
    }
  return best;
}

std::string learning_clause(const Study& study, const std::vector<std::size_t>& configurations) {
  const Cell* best = best_learner(study, configurations);
  if (!best) return none_measured("compare them");
  const std::optional<LearningScore> score = learning_score(study);
  const Estimate& value = best->*score->member;
  if (!is_alone(study, configurations, *best))
    return fmt::format("several share the {}: {}", score->best, with_interval(value));
  return fmt::format("the {} is that of {} on {}: {}", score->best, study.configuration(*best).label, ranks_text(*best),
                     with_interval(value));
}

Evidence learning_evidence(const Study& study, const std::vector<std::size_t>& configurations) {
  const Cell* best = best_learner(study, configurations);
  if (!best) return {};
  return {{"score", best->*learning_score(study)->member}, {"ranks", best->ranks}};
}

Findings learning_advice(const Study& study) {
  Findings out;
  for (const Axis& axis : study.axes)
    if (axis.is_learning) out.push_back(advice_on(study, axis));
  return out;
}

std::string learning_settings(const Study& study) {
  std::vector<std::string> names;
  for (const Axis& axis : study.axes)
    if (axis.is_learning) names.push_back(study.keys.label(axis.key));
  return join(names, " and ");
}

}  // namespace multicard::post
