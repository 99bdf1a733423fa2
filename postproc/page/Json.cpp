#include "postproc/page/Json.hpp"

#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "postproc/page/JsonValues.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/ShareAnswer.hpp"

namespace multicard::post {

namespace {

using Json = nlohmann::ordered_json;
using post::json_of;  // which those below would hide

/// The measured numbers of ranks, then the predicted ones.
Json json_of(const ScalingPrediction& prediction) {
  Json out{{"mean_error", number(prediction.error)}, {"points", Json::array()}};
  for (const PredictedRate& point : prediction.points)
    out["points"].push_back({{"ranks", point.ranks},
                             {"rate_per_s", number(point.rate.value)},
                             {"interval_95", {number(point.rate.interval->low), number(point.rate.interval->high)}},
                             {"efficiency", number(point.efficiency)},
                             {"measured", point.is_measured}});
  out["inefficient_from_ranks"] = prediction.inefficient_from ? Json(*prediction.inefficient_from) : Json(nullptr);
  return out;
}

Json json_of(const Study& study, const std::vector<Figure>& figures) {
  Json out{{"id", study.id}, {"title", study.title()}, {"scaling", text_of(study.scaling)}, {"unit", study.unit}};
  out["answers"] = json_of(study.answers);
  out["advice"] = json_of(study.advice);
  out["findings"] = json_of(study.findings);
  out["axes"] = Json::array();
  for (const Axis& axis : study.axes)
    out["axes"].push_back({{"key", axis.key}, {"values", axis.values}});
  const Columns<Cell> of_cells = cell_columns(study);
  out["configurations"] = Json::array();
  for (std::size_t i = 0; i < study.configurations.size(); ++i) {
    const Configuration& configuration = study.configurations[i];
    Json entry{{"label", configuration.full_label()}, {"settings", configuration.settings}};
    entry["options_label"] = configuration.label;
    entry["work_label"] = configuration.work_label;
    entry["baseline_ranks"] = configuration.baseline_ranks ? Json(*configuration.baseline_ranks) : Json(nullptr);
    entry["cells"] = Json::array();
    for (const Cell* cell : study.cells_of(i))
      entry["cells"].push_back(json_row(of_cells, *cell));
    for (const ScalingPrediction& prediction : study.predictions)
      if (prediction.configuration == i) entry["prediction"] = json_of(prediction);
    out["configurations"].push_back(std::move(entry));
  }
  if (compares_methods(study)) out["methods"] = json_rows(method_columns(study), method_cells(study));
  out["options"] = json_rows(option_columns(), study.effects);
  out["runs"] = json_rows(run_columns(study), study.runs);
  out["figures"] = json_of(figures);
  return out;
}

Json json_of(const Collection& collection, const RunReport& run) {
  const EvaluationReport& report = *run.evaluation;
  Json out{{"file", collection.sources[run.source].path}, {"run", run.name}, {"settings", run.settings}};
  if (report.language) {
    out["loss"] = number(report.loss);
    out["perplexity"] = number(report.language->perplexity);
    out["reward_margin"] = number(report.language->reward_margin);
    out["reward_accuracy"] = number(report.language->reward_accuracy);
    out["sequences"] = report.samples;
    out["tokens"] = report.language->tokens;
    out["targets"] = report.language->targets;
    out["questions"] = report.language->questions;
    out["exact_match"] = json_of(report.language->exact_match);
    return out;
  }
  out["accuracy"] = json_of(report.accuracy);
  out["top5"] = number(report.top5);
  out["loss"] = number(report.loss);
  out["classes"] = json_rows(class_columns(), report.classes);
  out["confusion"] = Json::array();
  for (const ConfusionCount& entry : report.confusion)
    // Triples of actual class, predicted class and count: of many classes most counts are 0 and left out.
    out["confusion"].push_back({entry.actual, entry.predicted, entry.count});
  return out;
}

}  // namespace

std::string summary_json(const Collection& collection, const PageFigures& figures) {
  Json out{{"format", "multicard-summary"}, {"schema_version", 3}, {"notices", collection.notices}};
  out["headline"] = json_of(headline(collection));
  out["subject"] = json_of(subject(collection));
  out["share"] = Json::array();
  for (const Source& source : collection.sources)
    if (const Finding share = share_finding(source.allocation); !share.empty()) out["share"].push_back(json_of(share));
  out["sources"] = Json::array();
  for (const Source& source : collection.sources)
    out["sources"].push_back(
        {{"path", source.path}, {"attributes", source.attributes}, {"provenance", source.provenance}});
  out["studies"] = Json::array();
  for (std::size_t i = 0; i < collection.studies.size(); ++i)
    out["studies"].push_back(json_of(collection.studies[i], figures.of_studies[i]));
  out["evaluations"] = Json::array();
  for (std::size_t i = 0; i < collection.evaluated.size(); ++i) {
    out["evaluations"].push_back(json_of(collection, collection.evaluated[i]));
    out["evaluations"].back()["figures"] = json_of(figures.of_evaluations[i]);
  }
  if (!collection.counted.empty()) out["counted"] = json_rows(counted_columns(collection.counted), collection.counted);
  return json_text(out, 1) + "\n";
}

}  // namespace multicard::post
