#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/DataSets.hpp"

namespace multicard::post {

namespace {

/// A difference is claimed only where the intervals of slowest and quickest do not overlap.
Finding time_title(const Study& study, const LengthEffect& effect) {
  const auto name = [&](const Cell* cell) { return study.configuration(*cell).full_label(); };
  const Evidence evidence{{"ranks", effect.ranks}, {"ratio", effect.time_spread}};
  const std::string ranks = counted(effect.ranks, "rank");
  if (!significantly_different(effect.slowest->step_time, effect.quickest->step_time))
    return {fmt::format("The step times of the data sets on {}: {}", ranks,
                        no_difference(effect.slowest->step_time, effect.quickest->step_time)),
            evidence};
  return {fmt::format("A step of {} takes {} times as long as one of {} on {}", name(effect.slowest),
                      significant(effect.time_spread, 3), name(effect.quickest), ranks),
          evidence};
}

/// The same of the rates, between the sets with the lowest and the highest.
Finding rate_title(const Study& study, const LengthEffect& effect) {
  const auto by_rate = [](const Cell* a, const Cell* b) { return a->rate.value < b->rate.value; };
  const auto [least, most] = std::ranges::minmax_element(effect.cells, by_rate);
  const double ratio = (*most)->rate.value / (*least)->rate.value;
  const Evidence evidence{{"ranks", effect.ranks}, {"ratio", ratio}};
  const std::string ranks = counted(effect.ranks, "rank");
  if (!significantly_different((*least)->rate, (*most)->rate))
    return {fmt::format("The rates of the data sets on {}: {}", ranks, no_difference((*least)->rate, (*most)->rate)),
            evidence};
  return {fmt::format("{} has {} times the rate of {} on {}", study.configuration(**most).full_label(),
                      significant(ratio, 3), study.configuration(**least).full_label(), ranks),
          evidence};
}

}  // namespace

void add_data_set_figures(const Study& study, std::vector<Figure>& figures) {
  if (!compares_data_sets(study)) return;
  const std::vector<LengthEffect> effects = length_effects(study);
  if (effects.empty()) return;
  // On most ranks, as the titles of other figures of scaling.
  const LengthEffect& last = effects.back();
  const std::string amount = last.equal_tokens() ? ", equal tokens per step" : "";
  add_cell_bars(study,
                {"data_sets-time", "milliseconds per step", time_title(study, last),
                 "Of the slowest rank. Lengths, padding and imbalance are in the table.", "", amount,
                 [](const Cell& cell) { return in_milliseconds(cell.step_time); }},
                figures);
  add_cell_bars(study,
                {"data_sets-rate", study.rate_unit(), rate_title(study, last),
                 "Tokens of the input: padding does not count.", "", amount, &Cell::rate},
                figures);
}

}  // namespace multicard::post
