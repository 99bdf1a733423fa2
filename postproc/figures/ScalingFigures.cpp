#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/LineChart.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

constexpr const char* kHeading = "Execution time, speedup and efficiency against ranks";

/// The lines of one figure: configurations that do the same work, or the same options on different work.
struct Lines {
  std::vector<std::size_t> configurations;
  bool same_work = true;
  std::vector<std::size_t> panels = {};  ///< configurations of all panels, whose axes are alike

  std::string label(const Study& study, std::size_t configuration) const {
    const Configuration& of = study.configurations[configuration];
    return same_work ? of.label : of.work_label;
  }
  /// "ddp-ds: " of several lines, nothing of one: what was run stands above.
  std::string prefix(const Study& study, std::size_t configuration) const {
    return configurations.size() > 1 ? label(study, configuration) + ": " : std::string();
  }
  std::size_t style(const Study& study, std::size_t configuration) const {
    return same_work ? style_of(study, configuration) : configuration;
  }
};

using Quantity = std::function<Estimate(const Cell&)>;

/// The cells of all lines, for texts about the figure.
std::vector<const Cell*> all_cells(const Study& study, const Lines& lines) {
  std::vector<const Cell*> out;
  for (const std::size_t configuration : lines.configurations)
    for (const Cell* cell : study.cells_of(configuration))
      out.push_back(cell);
  return out;
}

/// One line over ranks; crosses where runs did not complete.
Series series_of(const Study& study, const Lines& lines, std::size_t configuration, const Quantity& quantity) {
  Series series{lines.label(study, configuration), lines.style(study, configuration), {}, {}, {}};
  for (const Cell* cell : study.cells_of(configuration)) {
    const Estimate estimate = quantity(*cell);
    const bool complete = cell->status == CellStatus::complete && estimate.known();
    if (complete)
      series.points.push_back({double(cell->ranks), estimate.value, error_bar(estimate),
                               fmt::format("{} on {}: {}; {}", series.label, counted(cell->ranks, "rank"),
                                           with_interval(estimate), origin_of(study, *cell))});
    // A stopped run was measured; a failed one has no value.
    if (any_unfinished(study, *cell))
      series.crosses.push_back(
          {double(cell->ranks), complete || !estimate.known() ? kNone : estimate.value, std::nullopt,
           fmt::format("{} on {}: {}", series.label, counted(cell->ranks, "rank"), unfinished_text(study, *cell))});
  }
  return series;
}

/// A line needs efficiencies on two numbers of ranks.
bool is_series(const Study& study, std::size_t configuration) {
  const auto cells = study.cells_of(configuration);
  return std::ranges::count_if(cells, [](const Cell* cell) { return cell->efficiency.known(); }) > 1;
}

bool has_unfinished(const Study& study, std::size_t configuration) {
  const auto cells = study.cells_of(configuration);
  return std::ranges::any_of(cells, [&](const Cell* cell) { return any_unfinished(study, *cell); });
}

/// `lines` and, where there is room, those of `group` that have nothing but crosses.
Lines add_crossed(const Study& study, Lines lines, const std::vector<std::size_t>& group) {
  for (const std::size_t other : group)
    if (!is_series(study, other) && has_unfinished(study, other) && lines.configurations.size() < kColours.size())
      lines.configurations.push_back(other);
  return lines;
}

/// All lines, with a tick at every number of ranks that any of them has, here or in another panel.
LineChart chart_of(const Study& study, const Lines& lines, const Quantity& quantity) {
  LineChart chart;
  chart.x_name = "ranks";
  for (const std::size_t configuration : lines.panels)
    for (const Cell* cell : study.cells_of(configuration)) {
      chart.ticks.push_back(cell->ranks);
      const Estimate value = quantity(*cell);
      if (cell->status == CellStatus::complete && value.known())
        chart.other_panels.push_back({double(cell->ranks), value.value, error_bar(value)});
    }
  for (const std::size_t configuration : lines.configurations) {
    chart.series.push_back(series_of(study, lines, configuration, quantity));
    for (const Cell* cell : study.cells_of(configuration))
      chart.ticks.push_back(cell->ranks);
  }
  std::ranges::sort(chart.ticks);
  chart.ticks.erase(std::unique(chart.ticks.begin(), chart.ticks.end()), chart.ticks.end());
  return chart;
}

void add(const Study& study, LineChart chart, const Finding& title, const Lines& lines, const std::string& id,
         const std::string& caption, std::vector<Figure>& figures) {
  const std::vector<const Cell*> cells = all_cells(study, lines);
  chart.subtitle = fmt::format("{} scaling: {}. {}", text_of(study.scaling),
                               common_settings(study, lines.configurations), reading_aid(study, cells));
  figures.push_back(figure_of(id, Section::study, title, chart, caption, kHeading));
}

void add_time(const Study& study, const Lines& lines, const Cell& best, const std::string& suffix,
              std::vector<Figure>& figures) {
  LineChart chart = chart_of(study, lines, &Cell::time_per_thousand);
  const Cell& base = *study.cell(best.configuration, *study.configuration(best).baseline_ranks);
  // Ideal scaling: T(R) = T(R0) R0 / R.
  const double of_one = base.time_per_thousand().value * base.ranks;
  const Estimate time = best.time_per_thousand(), base_time = base.time_per_thousand();
  const Finding title{lines.prefix(study, best.configuration) +
                          fmt::format("{} s for 1,000 {} on {}, {} s on {}", with_interval(time, 3), study.unit,
                                      counted(best.ranks, "rank"), with_interval(base_time, 3), base.ranks),
                      {{"thousand", 1000},
                       {"s_per_thousand", time},
                       {"ranks", best.ranks},
                       {"baseline_s_per_thousand", base_time},
                       {"baseline_ranks", base.ranks}}};
  chart.vertical = Vertical::logarithmic;
  chart.crosses = Crosses::on_top;  // lower is better
  chart.y_name = fmt::format("seconds for 1,000 {}", study.unit);
  chart.ideal = [of_one](double ranks) { return of_one / ranks; };
  const std::string caption = lines.configurations.size() == 1
                                  ? ""  // whose time the ideal continues is plain
                                  : fmt::format("Ideal: the time of {} on {} over the number of ranks.",
                                                lines.label(study, best.configuration), counted(base.ranks, "rank"));
  add(study, chart, title, lines, "time" + suffix, caption, figures);
}

/// `text` after the name of a line ("dp: "); alone it begins a sentence.
std::string after(const std::string& name, const std::string& text) {
  return name.empty() ? capitalised(text) : name + text;
}

/// What more ranks gain, as far as the interval says it.
Finding speedup_title(const Study& study, const Cell& best, const std::string& of) {
  const int base = *study.configuration(best).baseline_ranks;
  const Estimate growth = growth_of(study, best);
  Finding title{{}, {{"ranks", best.ranks}, {"baseline_ranks", base}}};
  const std::string ranks = counted(best.ranks, "rank");
  if (!growth.interval) {
    title.text = after(of, fmt::format("too few values for a speedup on {}", ranks));
    return title;
  }
  title.evidence.add({"ratio", growth});
  const SpeedText speed = speed_text(growth);
  if (shows_no_difference(growth))
    title.text = after(of, fmt::format("no measurable speedup on {} over {} ({})", ranks, base, times_text(growth)));
  else {
    if (speed.is_slower) title.evidence.add({"time_ratio", speed.shown});
    title.text = after(of, fmt::format("{}{} on {} as on {} ({})", speed.is_slower ? "takes " : "", speed.times, ranks,
                                       base, speed.range));
  }
  return title;
}

void add_speedup(const Study& study, const Lines& lines, const Cell& best, const std::string& suffix,
                 std::vector<Figure>& figures) {
  LineChart chart = chart_of(study, lines, &Cell::speedup);
  chart.vertical = Vertical::logarithmic;
  chart.y_name = "speedup";
  chart.ideal = [](double ranks) { return ranks; };
  std::vector<std::string> parts;
  for (const std::size_t index : lines.configurations)
    if (const Cell* cell = largest(study, index); cell && cell->speedup.known() && cell != &best)
      parts.push_back(
          fmt::format("{}: {} on {}", lines.label(study, index), with_interval(cell->speedup, 3), cell->ranks));
  add(study, chart, speedup_title(study, best, lines.prefix(study, best.configuration)), lines, "speedup" + suffix,
      "Rate over that on the fewest ranks." + (parts.empty() ? std::string() : fmt::format(" {}.", join(parts, "; "))),
      figures);
}

Finding efficiency_title(const Cell& cell, const std::string& of) {
  const std::string ranks = counted(cell.ranks, "rank");
  if (!cell.efficiency.interval || is_too_wide(cell.efficiency))
    return {after(of, fmt::format("too few values for an efficiency on {}", ranks)), {{"ranks", cell.ranks}}};
  return {after(of, fmt::format("efficiency {} on {} ({})", alike(cell.efficiency.value, cell.efficiency.value, 2),
                                ranks, range_text(cell.efficiency, 2))),
          {{"ranks", cell.ranks}, {"efficiency", cell.efficiency}}};
}

void add_efficiency(const Study& study, const Lines& lines, const Cell& best, const std::string& suffix,
                    std::vector<Figure>& figures) {
  LineChart chart = chart_of(study, lines, &Cell::efficiency);
  // Rates decide which configuration is the best; of those on as many ranks the title quotes the highest efficiency.
  const Cell* most = &best;
  for (const std::size_t index : lines.configurations)
    if (const Cell* cell = largest(study, index);
        cell && cell->ranks == best.ranks && cell->efficiency.value > most->efficiency.value)
      most = cell;
  const Finding title = efficiency_title(*most, lines.prefix(study, most->configuration));
  chart.y_name = "efficiency = speedup / ranks";
  chart.ideal = [](double) { return 1.0; };
  add(study, chart, title, lines, "efficiency" + suffix, {}, figures);
}

/// One figure for each kind of work; where each kind was done with the same options only, one of all kinds.
std::vector<std::pair<Lines, std::vector<std::size_t>>> lines_of(const Study& study) {
  std::vector<std::pair<Lines, std::vector<std::size_t>>> out;
  std::size_t most = 0;
  std::vector<std::size_t> all;
  for (const auto& group : study.comparable()) {
    std::vector<std::size_t> chosen;
    for (const std::size_t configuration : group)
      if (is_series(study, configuration)) chosen.push_back(configuration);
    most = std::max(most, group.size());
    all.insert(all.end(), chosen.begin(), chosen.end());
    for (const auto& piece : pieces(chosen, kColours.size()))
      out.push_back({{piece, true, chosen}, group});
  }
  // Lines of different work may share a figure where only the work differs: each is compared with itself alone.
  if (most > 1 || out.size() < 2) return out;
  out.clear();
  for (const auto& piece : pieces(all, kColours.size()))
    out.push_back({{piece, false, all}, all_configurations(study)});
  return out;
}

/// The cell with the largest speedup: rates of different work do not compare.
const Cell* most_sped_up(const Study& study, const Lines& lines) {
  const Cell* best = nullptr;
  for (const Cell* cell : all_cells(study, lines))
    if (cell->speedup.known() && (!best || cell->speedup.value > best->speedup.value)) best = cell;
  return best;
}

}  // namespace

void add_scaling_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  for (const auto& [lines, group] : lines_of(study)) {
    const Cell* best = lines.same_work ? fastest(study, lines.configurations) : most_sped_up(study, lines);
    if (best->ranks == *study.configuration(*best).baseline_ranks) best = largest(study, best->configuration);
    const std::string suffix = numbered("", number++);
    add_time(study, add_crossed(study, lines, group), *best, suffix, figures);
    add_speedup(study, lines, *best, suffix, figures);
    add_efficiency(study, lines, *best, suffix, figures);
  }
}

}  // namespace multicard::post
