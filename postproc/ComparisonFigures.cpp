#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Bars.hpp"
#include "postproc/Figures.hpp"
#include "postproc/Findings.hpp"
#include "postproc/Labels.hpp"
#include "postproc/Palette.hpp"
#include "postproc/Standings.hpp"

namespace multicard::post {

namespace {

Bar rate_bar(const Study& study, const Cell& cell) {
  const std::string& label = study.configurations[cell.configuration].label;
  if (cell.status != CellStatus::complete || !cell.rate.known()) return crossed_bar(cell, label);
  Bar bar;
  bar.label = label;
  bar.segments = {{cell.rate.value, kColours[style_of(study, cell.configuration) % kColours.size()], "#111111", ""}};
  bar.interval = cell.rate.interval;
  bar.note = significant(cell.rate.value, 3);
  return bar;
}

std::string comparison_title(const Study& study, const std::vector<std::size_t>& group, const Cell& best) {
  const Cell* second = runner_up(study, group, best);
  const std::string& name = study.configurations[best.configuration].label;
  if (!second) return fmt::format("Only {} completed on {}", name, counted(best.ranks, "rank"));
  if (differ(best.rate, second->rate)) return fmt::format("{} is the fastest on {}", name, counted(best.ranks, "rank"));
  return fmt::format("{} and {} cannot be told apart on {}", name, study.configurations[second->configuration].label,
                     counted(best.ranks, "rank"));
}

}  // namespace

void add_comparison_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  for (const auto& group : study.comparable()) {
    const Cell* best = fastest(study, group);
    if (group.size() < 2 || !best) continue;
    for (const auto& piece : pieces(group, kMostBars)) {
      BarChart chart;
      for (const std::size_t configuration : piece)
        if (const Cell* cell = study.cell(configuration, best->ranks)) chart.bars.push_back(rate_bar(study, *cell));
      if (chart.bars.empty()) continue;
      chart.title = comparison_title(study, group, *best);
      chart.subtitle =
          fmt::format("{}. {} each, 95 % intervals", common_settings(study, group), counted(best->ranks, "rank"));
      chart.x_name = study.rate_unit();
      const Cell* second = runner_up(study, group, *best);
      const std::string caption = second ? comparison_sentence(study, *best, *second, "the second") : std::string();
      figures.push_back(figure_of(numbered("comparison", number++), Section::study, chart, caption));
    }
  }
}

}  // namespace multicard::post
