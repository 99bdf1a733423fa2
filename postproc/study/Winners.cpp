// Over several kinds of work: which options are the fastest for how many of them.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/study/Answer.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/NoAnswer.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

std::string without_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
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
    // Options are named without settings of learning, so that equal options of several kinds of work count together.
    winners.push_back(!is_clear ? std::string() : label.empty() ? study.configuration(*best).label : label);
  }
  return winners;
}

/// "32 px or 64 px": kinds of work that are few enough to be named; empty without names, or of more.
std::string named_works(const Study& study) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> names;
  for (const auto& configurations : study.comparable())
    if (fastest(study, configurations)) names.push_back(study.configurations[configurations.front()].work_label);
  const bool are_named = std::ranges::none_of(names, &std::string::empty);
  return are_named && names.size() > 1 && names.size() <= kMostNamed ? join(names, " or ") : std::string();
}

/// "both kinds of work", "all 3 kinds of work"
std::string kinds_text(std::size_t number) {
  return number == 1   ? "the kind of work"
         : number == 2 ? "both kinds of work"
                       : fmt::format("all {} kinds of work", number);
}

/// Which options win most kinds of work; `winners` names those of each kind, or nothing where there is no clear winner.
Finding winners_of(const Study& study, const std::vector<std::string>& winners) {
  const auto wins = [&](const std::string& name) { return std::ranges::count(winners, name); };
  // "" stands for kinds of work without a clear winner; it wins only where there are no others.
  const auto by_wins = [&](const std::string& a, const std::string& b) {
    return std::pair(!a.empty(), wins(a)) < std::pair(!b.empty(), wins(b));
  };
  const std::string most = *std::ranges::max_element(winners, by_wins);
  const std::size_t all = winners.size();
  const auto num_wins = most.empty() ? 0 : static_cast<std::size_t>(wins(most));
  const auto open = static_cast<std::size_t>(wins(""));
  const std::string works = named_works(study);
  const std::string text =
      most.empty()            ? "No options are measurably the fastest" + (works.empty() ? works : " for " + works)
      : num_wins == all       ? fmt::format("{} is the fastest for {}", most, kinds_text(all))
      : num_wins + open < all ? "Which options are the fastest depends on the work"
                              : fmt::format(
                                    "{} is the fastest for {} of {} kinds of work; the others have no clear "
                                    "winner",
                                    most, num_wins, all);
  return {text, {{"kinds", all}, {"clear_wins", num_wins}}, "winners"};
}

}  // namespace

Finding winners_finding(const Study& study) {
  const auto groups = study.comparable();
  const auto is_done = [&](const auto& group) { return fastest(study, group) != nullptr; };
  const auto done = std::ranges::find_if(groups, is_done);
  if (done == groups.end()) {
    std::vector<std::size_t> all(study.configurations.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const Finding none = no_answer_finding(study, all);
    return {without_stop(none.text), none.evidence, "winners"};
  }
  const auto one_speed = [&](const auto& group) { return differ_in_learning_alone(study, group); };
  if (std::ranges::none_of(study.configurations, &Configuration::has_options))
    return {fmt::format("Every kind of work was done with the same options, {}",
                        study.configuration(*fastest(study, *done)).label),
            {},
            "winners"};
  if (std::ranges::all_of(groups, one_speed))
    return {fmt::format("Each kind of work was done with several values of {}, which do not change its speed",
                        learning_settings(study)),
            {},
            "winners"};
  const std::vector<std::string> winners = clear_winners(study);
  return winners.empty() ? Finding{"Each kind of work was done by one configuration", {}, "winners"}
                         : winners_of(study, winners);
}

}  // namespace multicard::post
