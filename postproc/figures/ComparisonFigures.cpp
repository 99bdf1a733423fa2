#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

/// Kinds of work; of more the overview is the figure.
constexpr std::size_t kMostGroups = 3;

Bar rate_bar(const Study& study, const Cell& cell) {
  const std::string& label = study.configuration(cell).label;
  if (!cell.counts()) return crossed_bar(cell, label);
  Bar bar;
  bar.label = label;
  bar.segments = {{cell.rate.value, colour_of(study, cell), ""}};
  bar.hover = origin_of(study, cell);
  bar.interval = error_bar(cell.rate);
  bar.note = significant(cell.rate.value, 3);
  return bar;
}

/// What the bars of a figure, all on as many ranks, say of the fastest. Configurations that were not run on that many
/// ranks are not in it.
Finding comparison_title(const Study& study, const std::vector<std::size_t>& group, const Cell& best) {
  const Cell* second = runner_up(study, group, best);
  const std::string& name = study.configuration(best).label;
  const std::string ranks = counted(best.ranks, "rank");
  const Evidence evidence{{"ranks", best.ranks}};
  if (second && significantly_different(best.rate, second->rate))
    return {fmt::format("{} is the fastest on {}", name, ranks), evidence};
  if (second)
    return {fmt::format("No clear winner on {}: {} and {}, {}", ranks, name, study.configuration(*second).label,
                        no_difference(best.rate, second->rate)),
            evidence};
  // Others that did not complete count: "only" is said where the comparison was tried.
  const auto others = std::ranges::count_if(
      group, [&](std::size_t i) { return i != best.configuration && study.cell(i, best.ranks) != nullptr; });
  if (others > 0) return {fmt::format("Only {} completed on {}", name, ranks), evidence};
  return {fmt::format("{} alone was run on {}", name, ranks), evidence};
}

/// How to read the bars of these configurations on `ranks` ranks.
std::string aid(const Study& study, const std::vector<std::size_t>& configurations, int ranks) {
  std::vector<const Cell*> cells;
  for (const std::size_t configuration : configurations)
    if (const Cell* cell = study.cell(configuration, ranks)) cells.push_back(cell);
  return reading_aid(study, cells);
}

}  // namespace

void add_comparison_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  const auto groups = study.comparable();
  if (groups.size() > kMostGroups) return;  // the overview shows them together
  for (const auto& group : groups) {
    const Cell* best = fastest(study, group);
    if (group.size() < 2 || !best || differ_in_learning_alone(study, group)) continue;
    for (const auto& piece : pieces(group, kMostBars)) {
      BarChart chart;
      for (const std::size_t configuration : piece)
        if (const Cell* cell = study.cell(configuration, best->ranks)) chart.bars.push_back(rate_bar(study, *cell));
      if (chart.bars.empty()) continue;
      const Finding title = comparison_title(study, group, *best);
      chart.subtitle = fmt::format("{}. {} each, {}", common_settings(study, group), counted(best->ranks, "rank"),
                                   aid(study, piece, best->ranks));
      chart.x_name = study.rate_unit();
      const Cell* second = runner_up(study, group, *best);
      const std::string caption = second ? comparison_finding(study, *best, *second, "runner-up").text : std::string();
      figures.push_back(
          figure_of(numbered("comparison", number++), Section::study, title, chart, caption, kSideBySide));
    }
  }
}

}  // namespace multicard::post
