#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/draw/LineChart.hpp"
#include "postproc/draw/Palette.hpp"
#include "postproc/figures/Bars.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/RunningMedian.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

/// Kinds of work with curves of their own; the table of runs has the others.
constexpr std::size_t kMostGroups = 2;

/// The cells whose curves of `metric` are worth drawing together: one configuration's on all ranks, or of several each
/// on most.
std::vector<const Cell*> cells_to_draw(const Study& study, const std::vector<std::size_t>& configurations,
                                       const std::string& metric) {
  std::vector<const Cell*> out;
  for (const std::size_t configuration : configurations) {
    const auto cells = study.cells_of(configuration);
    for (const Cell* cell : cells) {
      const bool last = cell == cells.back() || cell == largest(study, configuration);
      const bool wanted = configurations.size() == 1 || last;
      if (wanted && !cell->measured.empty() && representative(study, *cell).metric(metric)) out.push_back(cell);
    }
  }
  if (out.size() > kColours.size()) out.resize(kColours.size());
  return out;
}

/// Single losses scatter more than curves differ: a running median keeps steps where they are and ignores outliers.
std::vector<Point> smoothed(const MetricSeries& metric, std::size_t window) {
  std::vector<Point> points;
  for (const auto& [step, value] : running_median(metric, window))
    points.push_back({step, value, std::nullopt, {}});
  return points;
}

/// A curve for each cell, of the run with its median rate.
LineChart curves(const Study& study, const std::vector<const Cell*>& cells, const std::string& metric,
                 std::size_t window) {
  LineChart chart;
  chart.horizontal = Horizontal::linear;
  const bool one =
      std::ranges::all_of(cells, [&](const Cell* cell) { return cell->configuration == cells.front()->configuration; });
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const RunReport& run = representative(study, *cells[i]);
    // The colour is the configuration's; its numbers of ranks differ in marker and dash.
    const LineStyle style(style_of(study, cells[i]->configuration), one ? i : 0);
    chart.series.push_back(
        {bar_label(study, *cells[i], cells), style, smoothed(*run.metric(metric), window), {}, "run " + run.name});
  }
  return chart;
}

/// Points of the longest curve: fewer than two make no line.
std::size_t longest(const LineChart& chart) {
  std::size_t most = 0;
  for (const Series& series : chart.series)
    most = std::max(most, series.points.size());
  return most;
}

enum class Trend { unclear, falls, rises };

/// Whether the losses of the first and the last third differ.
Trend trend_of(const MetricSeries& loss) {
  const std::size_t some = loss.values.size() / 3;  // at least 6 of kLeastLosses
  const auto third = [&](auto from) {
    std::vector<double> values(from, from + static_cast<std::ptrdiff_t>(some));
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    return estimate_of_steps(values);
  };
  const Estimate early = third(loss.values.begin());
  const Estimate late = third(loss.values.end() - static_cast<std::ptrdiff_t>(some));
  if (!significantly_different(early, late)) return Trend::unclear;
  return late.value < early.value ? Trend::falls : Trend::rises;
}

/// Of one curve the drawn medians at both ends.
Finding loss_title(const MetricSeries& loss, const Series& drawn) {
  const double first = drawn.points.front().y, last = drawn.points.back().y;
  const Trend trend = trend_of(loss);
  const char* const text = trend == Trend::unclear ? "shows no clear change:"
                           : trend == Trend::falls ? "falls"
                                                   : "rises";
  const auto count = static_cast<long>(loss.values.size());
  return {fmt::format("Training loss {} from {} to {} in {}", text, significant(first, 3), significant(last, 3),
                      counted(count, "step")),
          {{"first", first}, {"last", last}, {"steps", count}}};
}

/// Of several curves how many fall.
Finding loss_title(const Study& study, const std::vector<const Cell*>& cells) {
  const auto falling = std::ranges::count_if(cells, [&](const Cell* cell) {
    return trend_of(*representative(study, *cell).metric("train_loss")) == Trend::falls;
  });
  const auto all = static_cast<long>(cells.size());
  const std::string which = falling == all ? fmt::format("all {}", all) : fmt::format("{} of {}", falling, all);
  return {fmt::format("Training loss falls in {} curves", which), {{"falling", falling}, {"curves", all}}};
}

/// One figure of training losses. Its window follows the longest curve, so that all are smoothed alike.
void add_loss(const Study& study, const std::vector<std::size_t>& group, const std::string& suffix,
              std::vector<Figure>& figures) {
  std::vector<const Cell*> cells = cells_to_draw(study, group, "train_loss");
  std::erase_if(cells,
                [&](const Cell* cell) { return !has_curve(*representative(study, *cell).metric("train_loss")); });
  if (cells.empty()) return;
  std::size_t num_values = 0;
  for (const Cell* cell : cells)
    num_values = std::max(num_values, representative(study, *cell).metric("train_loss")->values.size());
  const std::size_t window = window_for(num_values);
  LineChart chart = curves(study, cells, "train_loss", window);
  if (longest(chart) < 2) return;
  const Finding title =
      cells.size() > 1 ? loss_title(study, cells)
                       : loss_title(*representative(study, *cells.front()).metric("train_loss"), chart.series.front());
  chart.subtitle =
      fmt::format("{}{}. Running median of {} steps", common_settings(study, group), on_ranks(cells), window);
  chart.x_name = "step";
  chart.y_name = "training loss, mean over the global batch";
  chart.markers = Markers::off;
  figures.push_back(
      figure_of("train_loss" + suffix, Section::learning, title, chart, loss_finding(study, cells).text, "Learning"));
}

/// A metric of the test set over completed steps.
struct Evaluation {
  const char* metric;
  const char* title;    ///< before the best value
  const char* flat;     ///< the same where the first value is the best
  const char* caption;  ///< before the best value and whose it is
  const char* y_name;
  bool (*better)(double a, double b);
};

const Evaluation kAccuracy{"eval_accuracy",
                           "Test accuracy reaches",
                           "Test accuracy does not rise above",
                           "The highest is",
                           "share of the test set predicted right",
                           [](double a, double b) { return a > b; }};
const Evaluation kLoss{"eval_loss",     "Test loss falls to", "Test loss does not fall below",
                       "The lowest is", "test loss",          [](double a, double b) { return a < b; }};

/// Returns whether there was more than one evaluation, which a line needs.
bool add_evaluation(const Study& study, const std::vector<std::size_t>& group, const Evaluation& evaluation,
                    const std::string& suffix, std::vector<Figure>& figures) {
  const std::vector<const Cell*> cells = cells_to_draw(study, group, evaluation.metric);
  if (cells.empty()) return false;
  LineChart chart = curves(study, cells, evaluation.metric, 1);
  std::erase_if(chart.series, [](const Series& series) { return series.points.empty(); });
  if (longest(chart) < 2) return false;
  // The best point of any curve. Where it is the first of its curve, training has not improved it, and the title says
  // so.
  double best = chart.series.front().points.front().y;
  bool is_first = true;
  std::string name = chart.series.front().label;
  for (const Series& series : chart.series)
    for (const Point& point : series.points)
      if (evaluation.better(point.y, best)) {
        best = point.y;
        name = series.label;
        is_first = &point == &series.points.front();
      }
  const Finding title{fmt::format("{} {}", is_first ? evaluation.flat : evaluation.title, significant(best, 3)),
                      {{"best", best}}};
  chart.subtitle = common_settings(study, group) + on_ranks(cells);
  chart.x_name = "completed steps";
  chart.y_name = evaluation.y_name;
  figures.push_back(figure_of(evaluation.metric + suffix, Section::learning, title, chart,
                              fmt::format("{} {} ({}).", evaluation.caption, significant(best), name), "Learning"));
  return true;
}

/// The loss scale over several runs.
struct ScaleHistory {
  std::int64_t num_steps = 0, num_skipped = 0;
  double low = INFINITY, high = -INFINITY;

  void add(const RunReport& run) {
    const MetricSeries& scale = *run.metric("loss_scale");
    num_steps += static_cast<std::int64_t>(scale.values.size());
    for (const double value : scale.values) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
    if (const MetricSeries* skipped = run.metric("skipped"))
      num_skipped += std::ranges::count_if(skipped->values, [](double v) { return v > 0; });
  }
  Finding title() const {
    const std::string where =
        low == high ? "stays at " + grouped(std::llround(low))
                    : fmt::format("lies between {} and {}", grouped(std::llround(low)), grouped(std::llround(high)));
    return {fmt::format("The loss scale {}; {} of {} skipped", where, grouped(num_skipped), counted(num_steps, "step")),
            {{"low", low}, {"high", high}, {"skipped", num_skipped}, {"steps", num_steps}}};
  }
};

/// Where updates were skipped, on the curve.
std::vector<Point> skips_of(const RunReport& run) {
  const MetricSeries& scale = *run.metric("loss_scale");
  const MetricSeries* skipped = run.metric("skipped");
  std::vector<Point> out;
  for (std::size_t i = 0; skipped && i < std::min(skipped->values.size(), scale.values.size()); ++i)
    if (skipped->values[i] > 0)
      out.push_back({static_cast<double>(skipped->steps[i]), std::log2(scale.values[i]), std::nullopt, {}});
  return out;
}

void add_loss_scale(const Study& study, const std::vector<std::size_t>& group, const std::vector<const Cell*>& cells,
                    std::vector<Figure>& figures) {
  LineChart chart = curves(study, cells, "loss_scale", 1);
  ScaleHistory history;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const RunReport& run = representative(study, *cells[i]);
    history.add(run);
    // Loss scales are powers of two: their exponents are what changes.
    for (Point& point : chart.series[i].points)
      point.y = std::log2(point.y);
    // Updates with overflowed gradients were skipped, after which the scale is halved.
    chart.series[i].crosses = skips_of(run);
  }
  chart.subtitle = fmt::format("{}{}. × a skipped step", common_settings(study, group), on_ranks(cells));
  chart.x_name = "step";
  chart.y_name = "loss scale, as a power of two";
  chart.markers = Markers::off;
  chart.vertical = Vertical::fitted;
  chart.least_step = 1;
  const std::string caption =
      history.num_skipped == 0
          ? "No gradient overflowed."
          : fmt::format("{} of the updates were left out because gradients overflowed; the scale then shrinks.",
                        percent(static_cast<double>(history.num_skipped) / static_cast<double>(history.num_steps)));
  figures.push_back(figure_of("loss_scale", Section::learning, history.title(), chart, caption, "Loss scale"));
}

}  // namespace

void add_loss_scale_figures(const Study& study, std::vector<Figure>& figures) {
  for (const auto& group : study.comparable()) {
    std::vector<const Cell*> cells = cells_to_draw(study, group, "loss_scale");
    const auto too_short = [&](const Cell* cell) {
      return representative(study, *cell).metric("loss_scale")->values.size() < 2;
    };
    std::erase_if(cells, too_short);
    if (cells.empty()) continue;
    return add_loss_scale(study, group, cells, figures);  // other work looks the same
  }
}

void add_learning_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  const auto groups = study.comparable();
  if (groups.size() > kMostGroups) return;  // such a study compares times
  for (const auto& group : groups) {
    const std::string suffix = numbered("", number++);
    add_loss(study, group, suffix, figures);
    if (!add_evaluation(study, group, kAccuracy, suffix, figures)) add_evaluation(study, group, kLoss, suffix, figures);
  }
}

}  // namespace multicard::post
