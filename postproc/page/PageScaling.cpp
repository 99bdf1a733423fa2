#include "postproc/page/PageScaling.hpp"

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

std::string scaling_html(const Study& study) {
  if (study.predictions.empty()) return {};
  HtmlTable out{"prediction",
                fmt::format("Models of the step time, one for each configuration: the mean error of the rates on the "
                            "measured numbers of ranks, the most ranks that are predicted, and how many ranks keep an "
                            "efficiency of {}.",
                            kWorthwhileEfficiency),
                {"configuration", "mean error", "ranks", study.rate_unit(), "efficiency", "efficient up to"},
                {}};
  for (const ScalingPrediction& prediction : study.predictions) {
    const PredictedRate& last = prediction.points.back();
    const int most = prediction.inefficient_from ? *prediction.inefficient_from - 1 : last.ranks;
    out.rows.push_back({study.configurations[prediction.configuration].full_label(),
                        {percent(prediction.error), prediction.error},
                        {fmt::format("{}", last.ranks), double(last.ranks)},
                        {with_interval(last.rate), last.rate.value},
                        {significant(last.efficiency, 3), last.efficiency},
                        {fmt::format("{}{}", most, prediction.inefficient_from ? "" : " or more"), double(most)}});
  }
  return table(out);
}

}  // namespace multicard::post
