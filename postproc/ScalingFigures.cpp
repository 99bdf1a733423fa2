#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Figures.hpp"
#include "postproc/Findings.hpp"
#include "postproc/Labels.hpp"
#include "postproc/LineChart.hpp"
#include "postproc/Palette.hpp"
#include "postproc/Standings.hpp"

namespace multicard::post {

namespace {

/// One of the three figures over ranks.
struct Quantity {
  const char* id;
  Estimate Cell::*value;
};

std::vector<const Cell*> all_cells(const Study& study, const std::vector<std::size_t>& configurations) {
  std::vector<const Cell*> out;
  for (const std::size_t configuration : configurations)
    for (const Cell* cell : study.cells_of(configuration))
      out.push_back(cell);
  return out;
}

bool any_unfinished(const Study& study, const Cell& cell) {
  return std::any_of(cell.runs.begin(), cell.runs.end(),
                     [&](std::size_t run) { return study.runs[run].status != "complete"; });
}

Series series_of(const Study& study, std::size_t configuration, Estimate Cell::*value) {
  Series series{study.configurations[configuration].label, style_of(study, configuration), {}, {}};
  for (const Cell* cell : study.cells_of(configuration)) {
    const Estimate& estimate = cell->*value;
    const bool complete = cell->status == CellStatus::complete && estimate.known();
    if (complete) series.points.push_back({double(cell->ranks), estimate.value, estimate.interval});
    // A stopped run was measured; a failed one stands on the axis.
    if (any_unfinished(study, *cell))
      series.crosses.push_back({double(cell->ranks), complete || !estimate.known() ? 0 : estimate.value, std::nullopt});
  }
  return series;
}

bool is_series(const Study& study, std::size_t configuration) {
  const auto cells = study.cells_of(configuration);
  return std::count_if(cells.begin(), cells.end(), [](const Cell* cell) { return cell->efficiency.known(); }) > 1;
}

bool any_unfinished(const Study& study, std::size_t configuration) {
  const auto cells = study.cells_of(configuration);
  return std::any_of(cells.begin(), cells.end(), [&](const Cell* cell) { return any_unfinished(study, *cell); });
}

/// `configurations` and, where there is room, those of `group` that have nothing but crosses.
std::vector<std::size_t> with_crosses(const Study& study, std::vector<std::size_t> configurations,
                                      const std::vector<std::size_t>& group) {
  for (const std::size_t other : group)
    if (!is_series(study, other) && any_unfinished(study, other) && configurations.size() < kColours.size())
      configurations.push_back(other);
  return configurations;
}

LineChart chart_of(const Study& study, const std::vector<std::size_t>& configurations, Estimate Cell::*value) {
  LineChart chart;
  chart.x_name = "ranks";
  for (const std::size_t configuration : configurations) {
    chart.series.push_back(series_of(study, configuration, value));
    for (const Cell* cell : study.cells_of(configuration))
      chart.ticks.push_back(cell->ranks);
  }
  std::sort(chart.ticks.begin(), chart.ticks.end());
  chart.ticks.erase(std::unique(chart.ticks.begin(), chart.ticks.end()), chart.ticks.end());
  return chart;
}

std::string subtitle(const Study& study, const std::vector<std::size_t>& configurations) {
  const std::vector<const Cell*> cells = all_cells(study, configurations);
  const bool crosses =
      std::any_of(cells.begin(), cells.end(), [&](const Cell* cell) { return any_unfinished(study, *cell); });
  return fmt::format("{} scaling: {}. {}, 95 % intervals{}", text_of(study.scaling),
                     common_settings(study, configurations), repeats_text(cells),
                     crosses ? ", × failed or stopped" : "");
}

void add(const Study& study, const LineChart& chart, const std::vector<std::size_t>& configurations,
         const std::string& id, const std::string& caption, std::vector<Figure>& figures) {
  LineChart finished = chart;
  finished.subtitle = subtitle(study, configurations);
  figures.push_back(figure_of(id, Section::study, finished, caption));
}

void add_rate(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best,
              const std::string& suffix, std::vector<Figure>& figures) {
  LineChart chart = chart_of(study, configurations, &Cell::rate);
  const Configuration& configuration = study.configurations[best.configuration];
  const Cell& base = *study.cell(best.configuration, *configuration.baseline_ranks);
  chart.title = fmt::format("{} reaches {} {} on {}", configuration.label, significant(best.rate.value, 3),
                            study.rate_unit(), counted(best.ranks, "rank"));
  chart.y_name = study.rate_unit() + " over all ranks";
  chart.ideal_slope = base.rate.value / base.ranks;
  const std::string caption = fmt::format(
      "Median over steps{}; ideal: the rate of {} on {} times the number of ranks. {}", interval_text(best.rate),
      configuration.label, counted(base.ranks, "rank"), scaling_sentence(study, best));
  add(study, chart, configurations, "rate" + suffix, caption, figures);
}

void add_speedup(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best,
                 const std::string& suffix, std::vector<Figure>& figures) {
  LineChart chart = chart_of(study, configurations, &Cell::speedup);
  const Configuration& configuration = study.configurations[best.configuration];
  const int base = *configuration.baseline_ranks;
  chart.title = fmt::format("{} is {} times as fast on {} as on {}", configuration.label,
                            significant(best.speedup.value / base, 3), counted(best.ranks, "rank"), base);
  chart.y_name = "speedup S(R) = R0 · rate(R) / rate(R0)";
  chart.ideal_slope = 1;
  std::vector<std::string> parts;
  for (const std::size_t index : configurations)
    if (const Cell* cell = largest(study, index); cell && cell->speedup.known())
      parts.push_back(fmt::format("{}: {}{} on {}", study.configurations[index].label,
                                  significant(cell->speedup.value, 3), interval_text(cell->speedup, 3), cell->ranks));
  add(study, chart, configurations, "speedup" + suffix,
      fmt::format("Speedup over the smallest measured number of ranks. {}.", join(parts, "; ")), figures);
}

void add_efficiency(const Study& study, const std::vector<std::size_t>& configurations, const Cell& best,
                    const std::string& suffix, std::vector<Figure>& figures) {
  LineChart chart = chart_of(study, configurations, &Cell::efficiency);
  const Cell* most = &best;
  for (const std::size_t index : configurations)
    if (const Cell* cell = largest(study, index);
        cell && cell->ranks == best.ranks && cell->efficiency.value > most->efficiency.value)
      most = cell;
  chart.title = fmt::format("{} keeps {} efficiency on {}", study.configurations[most->configuration].label,
                            significant(most->efficiency.value, 2), counted(most->ranks, "rank"));
  chart.y_name = "efficiency S(R) / R";
  chart.ideal_height = 1;
  add(study, chart, configurations, "efficiency" + suffix,
      fmt::format("1 would be perfect. {}", limit_sentence(study, best)), figures);
}

}  // namespace

void add_scaling_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  for (const auto& group : study.comparable()) {
    std::vector<std::size_t> chosen;
    for (const std::size_t configuration : group)
      if (is_series(study, configuration)) chosen.push_back(configuration);
    for (const auto& piece : pieces(chosen, kColours.size())) {
      const Cell* best = fastest(study, piece);
      if (best->ranks == *study.configurations[best->configuration].baseline_ranks)
        best = largest(study, best->configuration);
      const std::string suffix = number++ == 0 ? "" : fmt::format("-{}", number);
      add_rate(study, with_crosses(study, piece, group), *best, suffix, figures);
      add_speedup(study, piece, *best, suffix, figures);
      add_efficiency(study, piece, *best, suffix, figures);
    }
  }
}

}  // namespace multicard::post
