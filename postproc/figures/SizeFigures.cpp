#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/LineChart.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/figures/Lines.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

/// What makes the work larger or smaller.
bool is_size(const Axis& axis) {
  return axis.is_work && is_numeric(axis);
}

/// "image size, px"
std::string axis_name(const Study& study, const std::string& key) {
  return study.keys.label(key) + (short_key(key) == "image_size" ? ", px" : "");
}

/// All cells of a panel, for texts about it.
std::vector<const Cell*> cells_of(const std::vector<Line>& panel) {
  std::vector<const Cell*> cells;
  for (const Line& line : panel)
    for (const auto& [x, cell] : line.points)
      cells.push_back(cell);
  return cells;
}

/// The configurations' colours; lines of one colour, on other numbers of ranks, differ in marker and dash.
std::vector<LineStyle> styles_of(const Study& study, const std::vector<Line>& panel) {
  std::vector<LineStyle> styles;
  for (const Line& line : panel) {
    const std::size_t colour = style_of(study, line.points.front().second->configuration);
    const auto alike = std::ranges::count(styles, colour, &LineStyle::colour);
    styles.emplace_back(colour, static_cast<std::size_t>(alike));
  }
  return styles;
}

/// A figure being made: the panel, the axis and the texts.
struct SizeFigure {
  const Study& study;
  const std::string& key;
  const std::vector<Line>& panel;
  const std::vector<Line>& panels;  ///< lines of all panels, whose axes are alike

  std::string heading() const { return fmt::format("Execution time and efficiency against {}", study.keys.label(key)); }
  std::string label(const Line& line) const {
    const std::string text = label_of(line, panel);
    return text.empty() ? study.configuration(*line.points.front().second).label : text;
  }
  std::string subtitle() const {
    std::vector<std::size_t> configurations;
    for (const Cell* cell : cells_of(panel))
      configurations.push_back(cell->configuration);
    const std::string common = in_common(panel);
    return fmt::format("{}{}. {}", common_settings(study, configurations), common.empty() ? "" : ", " + common,
                       reading_aid(study, cells_of(panel)));
  }
};

/// "224 px"
std::string at(const SizeFigure& figure, double value) {
  return figure.study.keys.label(figure.key, significant(value, 6));
}

/// A line for each of the panel, with ticks at the sizes that were run, here or in another panel.
LineChart chart_of(const SizeFigure& figure, const std::function<Estimate(const Cell&)>& quantity) {
  LineChart chart;
  chart.horizontal = Horizontal::linear_values;
  chart.x_name = axis_name(figure.study, figure.key);
  const std::vector<LineStyle> styles = styles_of(figure.study, figure.panel);
  std::set<double> ticks;
  for (const Line& line : figure.panels)
    for (const auto& [x, cell] : line.points) {
      ticks.insert(x);
      if (const Estimate value = quantity(*cell); cell->counts() && value.known())
        chart.other_panels.push_back({x, value.value, error_bar(value)});
    }
  for (std::size_t i = 0; i < figure.panel.size(); ++i) {
    Series series{figure.label(figure.panel[i]), styles[i], {}, {}, {}};
    for (const auto& [x, cell] : figure.panel[i].points) {
      const Estimate value = quantity(*cell);
      const std::string name = fmt::format("{}, {}: ", series.label, at(figure, x));
      if (cell->counts() && value.known())
        series.points.push_back({x, value.value, error_bar(value),
                                 fmt::format("{}{}; {}", name, with_interval(value), origin_of(figure.study, *cell))});
      else if (cell->status != CellStatus::complete)
        series.crosses.push_back({x, kNone, std::nullopt, name + unfinished_text(figure.study, *cell)});
    }
    chart.series.push_back(std::move(series));
  }
  chart.ticks.assign(ticks.begin(), ticks.end());
  chart.subtitle = figure.subtitle();
  return chart;
}

/// The largest value of the axis where any cell of the panel counts.
double largest_measured(const std::vector<Line>& panel) {
  double most = -INFINITY;
  for (const Line& line : panel)
    for (const auto& [x, cell] : line.points)
      if (cell->counts()) most = std::max(most, x);
  return most;
}

/// The line that is the fastest at `x`; null when none counts there.
const Line* fastest_at(const std::vector<Line>& panel, double x) {
  const Line* best = nullptr;
  double rate = 0;
  for (const Line& line : panel)
    for (const auto& [at, cell] : line.points)
      if (at == x && cell->counts() && cell->rate.value > rate) {
        best = &line;
        rate = cell->rate.value;
      }
  return best;
}

/// The line must have a cell at `x`.
const Cell& cell_at(const Line& line, double x) {
  return *std::ranges::find_if(line.points, [x](const auto& point) { return point.first == x; })->second;
}

/// How the time changes with the size of the work.
std::string growth_sentence(const SizeFigure& figure, const Line& line, double last) {
  const auto first = std::ranges::find_if(line.points, [](const auto& point) { return point.second->counts(); });
  if (first->first >= last) return {};
  const Estimate growth = ratio(first->second->rate, cell_at(line, last).rate);
  // The work of images grows with their pixels, the square of the size.
  const double size = last / first->first;
  const bool is_image = short_key(figure.key) == "image_size";
  return fmt::format(" Its time at {} is {} times that at {}{}, and {} {} times as {}.", at(figure, last),
                     significant(growth.value, 3), at(figure, first->first), interval_text(growth, 3),
                     is_image ? "there are" : "the size is", significant(is_image ? size * size : size, 3),
                     is_image ? "many pixels" : "large");
}

/// The labels of the lines that are not measurably slower from the fastest at `x`; empty when there are none.
std::vector<std::string> not_measurably_slower(const SizeFigure& figure, const Line& best, double x) {
  std::vector<std::string> names;
  for (const Line& line : figure.panel)
    for (const auto& [at, cell] : line.points)
      if (at == x && &line != &best && cell->counts() && !significantly_different(cell->rate, cell_at(best, x).rate))
        names.push_back(figure.label(line));
  return names;
}

/// At the largest size, where times differ most; a winner only where none of the others is as fast.
Finding time_title(const SizeFigure& figure, const Line& best, double last, const std::vector<std::string>& as_fast) {
  const std::string& unit = figure.study.unit;
  const double value = cell_at(best, last).time_per_thousand().value;
  const std::string seconds = significant(value, 3);
  const Evidence evidence{{"thousand", 1000}, {"s_per_thousand", value}};
  if (figure.panel.size() == 1)
    return {fmt::format("1,000 {} take {} s at {}", unit, seconds, at(figure, last)), evidence};
  if (!as_fast.empty())
    return {fmt::format("No clear winner at {}: {} takes {} s for 1,000 {}", at(figure, last), figure.label(best),
                        seconds, unit),
            evidence};
  return {fmt::format("The fastest at {}: {}, {} s for 1,000 {}", at(figure, last), figure.label(best), seconds, unit),
          evidence};
}

void add_time(const SizeFigure& figure, const std::string& id, std::vector<Figure>& figures) {
  const double last = largest_measured(figure.panel);
  const Line* best = fastest_at(figure.panel, last);
  if (!best) return;
  LineChart chart = chart_of(figure, &Cell::time_per_thousand);
  const Cell& cell = cell_at(*best, last);
  const std::vector<std::string> as_fast = not_measurably_slower(figure, *best, last);
  const Finding title = time_title(figure, *best, last, as_fast);
  chart.crosses = Crosses::on_top;  // lower is better
  chart.y_name = fmt::format("seconds for 1,000 {}", figure.study.unit);
  const std::string caption =
      fmt::format("{} at {}: {} {}{}.{}", figure.label(*best), at(figure, last), significant(cell.rate.value),
                  figure.study.rate_unit(), interval_text(cell.rate), growth_sentence(figure, *best, last));
  const std::string others =
      as_fast.empty() ? "" : fmt::format(" Not measurably slower there: {}.", join(as_fast, "; "));
  figures.push_back(figure_of(id, Section::study, title, chart, caption + others, figure.heading()));
}

/// From which size on ranks are efficient, for the line with the most ranks.
std::string efficient_from(const SizeFigure& figure, const Line& line) {
  // One unknown efficiency leaves open from which size on all are high.
  if (std::ranges::any_of(line.points, [](const auto& point) { return !point.second->efficiency.interval; }))
    return fmt::format("With {} some efficiencies are not known, or come from too few values.", figure.label(line));
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const bool from_here =
        std::all_of(line.points.begin() + static_cast<std::ptrdiff_t>(i), line.points.end(),
                    [](const auto& point) { return point.second->efficiency.interval->low >= kWorthwhileEfficiency; });
    if (!from_here) continue;
    if (i == 0)
      return fmt::format("With {} it stays at {} or more at every size measured.", figure.label(line),
                         kWorthwhileEfficiency);
    return fmt::format("With {} it stays at {} or more from {} on.", figure.label(line), kWorthwhileEfficiency,
                       at(figure, line.points[i].first));
  }
  const bool is_below = line.points.back().second->efficiency.interval->high < kWorthwhileEfficiency;
  return fmt::format("With {} it is {} {} at the largest size.", figure.label(line),
                     is_below ? "below" : "not certainly above", kWorthwhileEfficiency);
}

/// How efficiency changes with the size, where the intervals at both ends say that it does.
Finding efficiency_title(const SizeFigure& figure, const Line& line, bool is_change) {
  const auto& [first_x, first] = line.points.front();
  const auto& [last_x, last] = line.points.back();
  const std::string name = figure.label(line);
  if (!first->efficiency.interval || !last->efficiency.interval)
    return {fmt::format("Efficiency with {}: too few values to compare sizes", name)};
  if (!is_change)
    return {fmt::format("Efficiency with {} does not change measurably from {} to {}", name, at(figure, first_x),
                        at(figure, last_x))};
  return {fmt::format("Efficiency with {} {} from {} at {} to {} at {}", name,
                      last->efficiency.value > first->efficiency.value ? "rises" : "falls",
                      significant(first->efficiency.value, 2), at(figure, first_x),
                      significant(last->efficiency.value, 2), at(figure, last_x)),
          {{"first", first->efficiency.value}, {"last", last->efficiency.value}}};
}

void add_efficiency(const SizeFigure& figure, const std::string& id, std::vector<Figure>& figures) {
  LineChart chart = chart_of(figure, &Cell::efficiency);
  const Line* most = nullptr;
  for (const Line& line : figure.panel)
    if (line.points.front().second->counts() && line.points.back().second->counts() &&
        (!most || line.points.front().second->ranks > most->points.front().second->ranks))
      most = &line;
  if (!most) return;
  const Cell &first = *most->points.front().second, &last = *most->points.back().second;
  const bool is_change = significantly_different(first.efficiency, last.efficiency);
  const Finding title = efficiency_title(figure, *most, is_change);
  chart.y_name = "efficiency S(R) / R";
  chart.ideal = [](double) { return 1.0; };
  const std::string caption = efficient_from(figure, *most);
  figures.push_back(figure_of(id, Section::study, title, chart, caption, figure.heading()));
}

/// The lines that have an efficiency to show: not those on the smallest number of ranks, where it is 1.
std::vector<Line> only_with_efficiency(const Study& study, std::vector<Line> lines) {
  std::erase_if(lines, [&](const Line& line) {
    return std::ranges::none_of(line.points, [&](const auto& point) {
      const auto& baseline = study.configuration(*point.second).baseline_ranks;
      return point.second->efficiency.known() && point.second->ranks != *baseline;
    });
  });
  return lines;
}

}  // namespace

void add_size_figures(const Study& study, std::vector<Figure>& figures) {
  for (const Axis& axis : study.axes) {
    if (!is_size(axis)) continue;
    const std::vector<Line> lines = lines_along(study, axis.key);
    int number = 0;
    for (const auto& panel : panels_of(lines, kColours.size()))
      add_time({study, axis.key, panel, lines}, numbered("time-" + short_key(axis.key), number++), figures);
    number = 0;
    const std::vector<Line> with_efficiency = only_with_efficiency(study, lines);
    for (const auto& panel : panels_of(with_efficiency, kColours.size()))
      add_efficiency({study, axis.key, panel, with_efficiency}, numbered("efficiency-" + short_key(axis.key), number++),
                     figures);
  }
}

}  // namespace multicard::post
