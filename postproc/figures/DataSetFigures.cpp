#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/DataSets.hpp"

namespace multicard::post {

namespace {

/// Step time or rate: what a bar shows of a cell.
struct Measure {
  const char* id;
  std::string x_name;
  Estimate (*of)(const Cell& cell);
};

/// The numbers of ranks that are drawn: all, or the fewest and the most where a figure would become too long.
std::vector<int> drawn_ranks(const Study& study) {
  const std::size_t bars = study.configurations.size() * study.rank_counts.size();
  if (bars <= kMostBars || study.rank_counts.size() < 3) return study.rank_counts;
  return {study.rank_counts.front(), study.rank_counts.back()};
}

Bar bar_of(const Study& study, const Cell& cell, const Measure& measure, std::size_t colour, bool with_ranks) {
  std::string label = study.configurations[cell.configuration].full_label();
  if (with_ranks) label += ", " + counted(cell.ranks, "rank");
  const Estimate value = measure.of(cell);
  if (cell.status != CellStatus::complete || !value.known()) return crossed_bar(cell, label);
  Bar bar;
  bar.label = label;
  bar.segments = {{value.value, kColours[colour % kColours.size()], "#111111", ""}};
  bar.interval = error_bar(value);
  bar.note = significant(value.value, 3);
  return bar;
}

std::string time_title(const Study& study, const LengthEffect& effect) {
  const auto name = [&](const Cell* cell) { return study.configurations[cell->configuration].full_label(); };
  if (!significantly_different(effect.slowest->step_time, effect.quickest->step_time))
    return fmt::format("The step times of the data sets do not differ significantly on {}",
                       counted(effect.ranks, "rank"));
  return fmt::format("A step of {} takes {} times as long as one of {} on {}", name(effect.slowest),
                     significant(effect.time_spread, 3), name(effect.quickest), counted(effect.ranks, "rank"));
}

std::string rate_title(const Study& study, const LengthEffect& effect) {
  const auto by_rate = [](const Cell* a, const Cell* b) { return a->rate.value < b->rate.value; };
  const auto [least, most] = std::minmax_element(effect.cells.begin(), effect.cells.end(), by_rate);
  if (!significantly_different((*least)->rate, (*most)->rate))
    return fmt::format("The rates of the data sets do not differ significantly on {}", counted(effect.ranks, "rank"));
  return fmt::format("{} has {} times the rate of {} on {}", study.configurations[(*most)->configuration].full_label(),
                     significant((*most)->rate.value / (*least)->rate.value, 3),
                     study.configurations[(*least)->configuration].full_label(), counted(effect.ranks, "rank"));
}

/// A figure for each piece of the configurations.
void add_bars(const Study& study, const Measure& measure, const std::string& title, const std::string& caption,
              std::vector<Figure>& figures) {
  const std::vector<int> ranks = drawn_ranks(study);
  std::vector<std::size_t> all(study.configurations.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  int number = 0;
  for (const auto& piece : pieces(all, std::max<std::size_t>(1, kMostBars / ranks.size()))) {
    BarChart chart;
    std::vector<const Cell*> cells;
    for (const std::size_t configuration : piece)
      for (std::size_t r = 0; r < ranks.size(); ++r)
        if (const Cell* cell = study.cell(configuration, ranks[r])) {
          chart.bars.push_back(bar_of(study, *cell, measure, r, ranks.size() > 1));
          cells.push_back(cell);
        }
    if (cells.empty()) continue;
    const bool equal_tokens = length_effects(study).back().equal_tokens();
    chart.title = title;
    chart.subtitle = fmt::format("{}{}. {}", common_settings(study, piece),
                                 equal_tokens ? ", equal tokens per step" : "", reading_aid(study, cells));
    chart.x_name = measure.x_name;
    figures.push_back(figure_of(numbered(measure.id, number++), Section::study, chart, caption));
  }
}

}  // namespace

void add_data_set_figures(const Study& study, std::vector<Figure>& figures) {
  if (!compares_data_sets(study)) return;
  const std::vector<LengthEffect> effects = length_effects(study);
  if (effects.empty()) return;
  const LengthEffect& last = effects.back();
  add_bars(
      study,
      {"data_sets-time", "milliseconds per step", [](const Cell& cell) { return in_milliseconds(cell.step_time); }},
      time_title(study, last), "Of the slowest rank. Lengths, padding and imbalance are in the table.", figures);
  add_bars(study, {"data_sets-rate", study.rate_unit(), [](const Cell& cell) { return cell.rate; }},
           rate_title(study, last), "Tokens of the input: padding does not count.", figures);
}

}  // namespace multicard::post
