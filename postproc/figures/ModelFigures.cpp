#include <algorithm>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/draw/LineChart.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

/// The prediction of the configuration that is fastest among those of `group` that have one; null without any.
const ScalingPrediction* prediction_of(const Study& study, const std::vector<std::size_t>& group) {
  std::vector<std::size_t> candidates;
  for (const ScalingPrediction& prediction : study.predictions)
    if (std::ranges::find(group, prediction.configuration) != group.end())
      candidates.push_back(prediction.configuration);
  const Cell* best = fastest(study, candidates);
  if (!best) return nullptr;
  return &*std::ranges::find_if(study.predictions,
                                [&](const ScalingPrediction& one) { return one.configuration == best->configuration; });
}

/// Measured rates and the model's, which continues beyond them.
LineChart chart_of(const Study& study, const ScalingPrediction& prediction) {
  LineChart chart;
  chart.x_name = "ranks";
  chart.y_name = study.rate_unit();
  const std::size_t colour = style_of(study, prediction.configuration);
  Series measured{"measured", {colour, 0}, {}, {}, {}}, model{"model", {colour, 1}, {}, {}, "model"};
  for (const Cell* cell : study.cells_of(prediction.configuration))
    if (cell->counts())
      measured.points.push_back({double(cell->ranks), cell->rate.value, error_bar(cell->rate),
                                 fmt::format("{}: {} {}; {}", counted(cell->ranks, "rank"), with_interval(cell->rate),
                                             study.rate_unit(), origin_of(study, *cell))});
  for (const PredictedRate& point : prediction.points) {
    model.points.push_back({double(point.ranks), point.rate.value, error_bar(point.rate)});
    chart.ticks.push_back(point.ranks);
  }
  chart.series = {measured, model};
  return chart;
}

/// The rate that is predicted for most ranks, with the interval of a next run; where no further number is trusted,
/// that.
Finding title_of(const Study& study, const ScalingPrediction& prediction) {
  const PredictedRate& last = prediction.points.back();
  const std::string of = study.configurations.size() > 1
                             ? study.configurations[prediction.configuration].full_label() + ": "
                             : std::string();
  const std::string ranks = counted(last.ranks, "rank");
  if (last.is_measured) return {fmt::format("{}nothing is predicted beyond {}", of, ranks), {{"ranks", last.ranks}}};
  return {fmt::format("{}{} {} predicted on {}", of, with_interval(last.rate, 3), study.rate_unit(), ranks),
          {{"ranks", last.ranks}, {"rate", last.rate}}};
}

std::string caption_of(const ScalingPrediction& prediction) {
  const PredictedRate& last = prediction.points.back();
  const std::string worthwhile =
      prediction.inefficient_from
          ? fmt::format("Its efficiency falls below {} from {} on", kWorthwhileEfficiency,
                        counted(*prediction.inefficient_from, "rank"))
          : fmt::format("Its efficiency stays above {} up to {}", kWorthwhileEfficiency, counted(last.ranks, "rank"));
  return fmt::format(
      "A model of the step time; mean error {} on the measured runs. {}. Its intervals are those of a next run{}.",
      percent(prediction.error), worthwhile, prediction.is_on_one_node ? ", with all ranks on one node" : "");
}

}  // namespace

void add_model_figures(const Study& study, std::vector<Figure>& figures) {
  int number = 0;
  for (const auto& group : study.comparable()) {
    const ScalingPrediction* prediction = prediction_of(study, group);
    if (!prediction) continue;
    LineChart chart = chart_of(study, *prediction);
    const Finding title = title_of(study, *prediction);
    chart.subtitle = common_settings(study, {prediction->configuration});
    figures.push_back(
        figure_of(numbered("model", number++), Section::study, title, chart, caption_of(*prediction), kPrediction));
  }
}

}  // namespace multicard::post
