#include <fmt/format.h>

#include "postproc/page/Columns.hpp"
#include "postproc/page/PageTables.hpp"

namespace multicard::post {

std::string scaling_html(const Study& study) {
  if (study.predictions.size() < 2) return {};  // of one the figure says it
  using Model = ScalingPrediction;
  const auto most = [](const Model& model) {
    const int ranks = model.inefficient_from ? *model.inefficient_from - 1 : model.points.back().ranks;
    return HtmlCell(fmt::format("{}{}", ranks, model.inefficient_from ? "" : " or more"), ranks);
  };
  const Columns<Model> columns{
      {"configuration", [&](const Model& model) { return study.configurations[model.configuration].full_label(); }},
      {"mean error", &Model::error, Format::percent},
      {"ranks",
       [](const Model& model) {
         return HtmlCell(std::to_string(model.points.back().ranks), model.points.back().ranks);
       }},
      {study.rate_unit(), [](const Model& model) { return model.points.back().rate; }},
      {"efficiency", [](const Model& model) { return model.points.back().efficiency; }, Format::three_digits},
      {"efficient up to", most}};
  return table(
      html_table("prediction",
                 fmt::format("Models of the step time: the most ranks that are predicted, and how many keep an "
                             "efficiency of {}.",
                             kWorthwhileEfficiency),
                 columns, study.predictions));
}

}  // namespace multicard::post
