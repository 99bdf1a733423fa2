#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/BoxChart.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

/// Boxes of one figure.
constexpr std::size_t kMostRanks = 16;
constexpr std::size_t kMostFigures = 6, kLeastFigures = 2;  ///< the latter where nothing stands out

/// Relative to `unit`.
Box in_units_of(double unit, Box box) {
  for (double& value : box)
    value /= unit;
  return box;
}

/// The median over ranks of their median own times: the unit of the figure.
double typical_own_time(const RunReport& run) {
  std::vector<double> medians;
  for (const RankReport& rank : run.rank_reports)
    medians.push_back(rank.own.value);
  return median(medians);
}

/// All ranks, or those with the largest median own times, by number.
std::vector<std::size_t> shown_ranks(const RunReport& run) {
  std::vector<std::size_t> ranks(run.rank_reports.size());
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ranks[i] = i;
  if (ranks.size() <= kMostRanks) return ranks;
  std::ranges::sort(ranks, [&](std::size_t a, std::size_t b) {
    return run.rank_reports[a].own.value > run.rank_reports[b].own.value;
  });
  ranks.resize(kMostRanks);
  std::ranges::sort(ranks);
  return ranks;
}

/// "in 2 of 3 runs": one run says little about a machine, so the title says how many agree.
std::string in_runs(int repeats, const Cell& cell) {
  if (cell.num_repeats() == 1) return "in the only run";
  return fmt::format("in {} of {}", repeats, counted(cell.num_repeats(), "run"));
}

/// Ranks that are stragglers in most repeats. Where steps are too few for an interval, that is said instead.
Finding title_of(const Study& study, const Cell& cell) {
  const std::map<int, int> stragglers = stragglers_of(cell);
  if (!can_find_stragglers(study, cell)) return {"Too few steps to tell whether a rank is slower than the others"};
  if (stragglers.empty()) return {"No rank is measurably slower than the others"};
  Finding title;
  std::vector<std::string> slow;
  int fewest = cell.num_repeats(), most = 0;
  for (const auto& [rank, repeats] : stragglers) {
    title.evidence.add({fmt::format("rank-{}", slow.size() + 1), rank});
    slow.push_back(std::to_string(rank));
    fewest = std::min(fewest, repeats);
    most = std::max(most, repeats);
  }
  const std::string who = slow.size() == 1   ? fmt::format("Rank {} was", slow[0])
                          : slow.size() <= 4 ? fmt::format("Ranks {} were", join(slow, ", "))
                                             : fmt::format("{} ranks were", slow.size());
  title.evidence.add({{"slow_ranks", slow.size()}, {"repeats", cell.num_repeats()}, {"slow_repeats", most}});
  title.text = fmt::format("{} slower than the others {}", who,
                           fewest == most ? in_runs(most, cell) : "in most of " + counted(cell.num_repeats(), "run"));
  return title;
}

Figure rank_figure(const Study& study, const Cell& cell, const std::string& id) {
  const RunReport& run = representative(study, cell);
  BoxChart chart;
  const std::vector<std::size_t> ranks = shown_ranks(run);
  const double typical = typical_own_time(run);
  for (const std::size_t rank : ranks) {
    const RankReport& report = run.rank_reports[rank];
    chart.columns.push_back({std::to_string(rank), in_units_of(typical, report.own_box),
                             report.straggler ? Mark::marked : Mark::none,
                             fmt::format("run {}, {}", run.name, counted(run.num_measured, "measured step"))});
  }
  const Finding title = title_of(study, cell);
  const std::string some = ranks.size() < run.rank_reports.size()
                               ? fmt::format(", the {} slowest of {}", ranks.size(), run.rank_reports.size())
                               : std::string();
  chart.subtitle = fmt::format("{}{}: run {}, {}. Boxes 25–75 %, whiskers 5–95 %, line: median", name_of(study, cell),
                               some, run.name, counted(run.num_measured, "measured step"));
  chart.x_name = "rank";
  chart.y_name = fmt::format("own work of a step, relative to the median rank ({} ms)", significant(1000 * typical, 3));
  chart.limit = kStragglerFactor;
  chart.limit_name = "+5 %";
  return figure_of(id, Section::ranks, title, chart, {});
}

}  // namespace

void add_rank_figures(const Study& study, std::vector<Figure>& figures) {
  std::vector<const Cell*> cells;
  for (std::size_t i = 0; i < study.configurations.size(); ++i)
    if (const Cell* cell = largest(study, i);
        cell && cell->ranks > 1 && !representative(study, *cell).rank_reports.empty())
      cells.push_back(cell);
  // Where there are many, those with stragglers and with the widest spread come first.
  std::ranges::stable_sort(cells, [](const Cell* a, const Cell* b) {
    return std::pair(stragglers_of(*b).size(), b->rank_spread) < std::pair(stragglers_of(*a).size(), a->rank_spread);
  });
  const auto num_with_stragglers = static_cast<std::size_t>(
      std::ranges::count_if(cells, [](const Cell* cell) { return !stragglers_of(*cell).empty(); }));
  const std::size_t number =
      std::min(std::max(num_with_stragglers, kLeastFigures), std::min(cells.size(), kMostFigures));
  for (std::size_t i = 0; i < number; ++i)
    figures.push_back(rank_figure(study, *cells[i], numbered("ranks", static_cast<int>(i))));
}

}  // namespace multicard::post
