#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/HeatMap.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Answer.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

/// Larger overviews could not be read.
constexpr std::size_t kMostColumns = 8, kMostRows = 24;

/// The rate of the options `label` over the best rate, both on the best's number of ranks.
HeatCell share_of_best(const Study& study, const std::vector<std::size_t>& group, const std::string& label,
                       const Cell& best) {
  for (const std::size_t configuration : group) {
    if (study.configurations[configuration].label != label) continue;
    const Cell* cell = study.cell(configuration, best.ranks);
    if (!cell) return {};
    if (!cell->counts()) return {HeatCellKind::failed, 0, {}, 0, unfinished_text(study, *cell)};
    const double share = cell->rate.value / best.rate.value;
    return {HeatCellKind::value, share, fmt::format("{:.2f}", share), share,
            fmt::format("{} {} on {}; {}", with_interval(cell->rate), study.rate_unit(), counted(cell->ranks, "rank"),
                        origin_of(study, *cell))};
  }
  return {};
}

bool any_failed(const HeatMap& map) {
  return std::ranges::any_of(map.cells, [](const std::vector<HeatCell>& row) {
    return std::ranges::any_of(row, [](const HeatCell& cell) { return cell.kind == HeatCellKind::failed; });
  });
}

}  // namespace

void add_overview_figure(const Study& study, std::vector<Figure>& figures) {
  const auto groups = study.comparable();
  const auto one_speed = [&](const auto& group) { return differ_in_learning_alone(study, group); };
  if (std::ranges::all_of(groups, one_speed)) return;
  HeatMap map;
  map.rows = option_labels(study);
  if (groups.size() < 2 || map.rows.size() < 2 || groups.size() > kMostColumns || map.rows.size() > kMostRows) return;
  map.cells.resize(map.rows.size());
  for (const auto& group : groups) {
    const Cell* best = fastest(study, group);
    // A kind of work that nothing completed has no best rate to compare with.
    if (!best) continue;
    map.columns.push_back(study.configuration(*best).work_label);
    for (std::size_t row = 0; row < map.rows.size(); ++row)
      map.cells[row].push_back(share_of_best(study, group, map.rows[row], *best));
  }
  if (map.columns.empty()) return;
  map.subtitle = "Rate relative to the best in each column, at its best number of ranks";
  if (any_failed(map)) map.subtitle += "; × did not complete";
  figures.push_back(figure_of("overview", Section::study, winners_finding(study), map,
                              "1.00 is the fastest of its column; columns are different work and not compared.",
                              kSideBySide));
}

}  // namespace multicard::post
