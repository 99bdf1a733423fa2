#include "postproc/page/Json.hpp"

#include <nlohmann/json.hpp>

#include "base/JsonText.hpp"
#include "postproc/page/JsonValues.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/OptionEffect.hpp"
#include "postproc/study/ShareAnswer.hpp"

namespace multicard::post {

namespace {

using Json = nlohmann::ordered_json;
using post::json_of;  // which those below would hide

Json phases_of(const std::array<double, kNumPhases>& phases) {
  Json out = Json::object();
  for (std::size_t p = 0; p < kNumPhases; ++p)
    out[kPhaseNames[p]] = number(phases[p]);
  return out;
}

Json json_of(const Study& study, const Cell& cell) {
  Json out{{"ranks", cell.ranks},
           {"fewest_ranks", cell.fewest_ranks},
           {"status", text_of(cell.status)},
           {"repeats", cell.num_repeats()}};
  out["runs"] = Json::array();
  for (const std::size_t run : cell.runs)
    out["runs"].push_back(study.runs[run].name);
  out["rate_per_s"] = json_of(cell.rate);
  out["s_per_thousand"] = json_of(cell.time_per_thousand());
  out["step_s"] = json_of(cell.step_time);
  out["speedup"] = json_of(cell.speedup);
  out["efficiency"] = json_of(cell.efficiency);
  out["mean_step_s"] = number(cell.mean_step);
  out["mean_phase_s"] = cell.measured.empty() ? Json(nullptr) : phases_of(cell.phases);
  out["exposed_share"] = number(cell.exposed_share);
  out["data_wait_share"] = number(cell.data_wait_share);
  out["rank_spread"] = number(cell.rank_spread);
  out["stragglers"] = Json::object();
  for (const auto& [rank, repeats] : cell.stragglers)
    out["stragglers"][std::to_string(rank)] = repeats;
  out["test_loss"] = json_of(cell.test_loss);
  out["test_accuracy"] = json_of(cell.test_accuracy);
  out["memory_bytes"] = cell.memory;
  return out;
}

Json json_of(const TextReport& text) {
  return {{"rows_a_step", number(text.rows)},
          {"tokens_a_step", number(text.tokens)},
          {"trained_tokens_a_step", number(text.trained)},
          {"computed_tokens_a_step", number(text.computed)},
          {"token_imbalance", number(text.imbalance)},
          {"longest_row", text.longest_row}};
}

Json json_of(const Change& change) {
  return {{"before", number(change.before)}, {"after", number(change.after)}};
}

Json json_of(const TuningReport& tuning) {
  Json out{{"test_loss", json_of(tuning.loss)},
           {"perplexity", json_of(tuning.perplexity)},
           {"reward_margin", json_of(tuning.reward_margin)},
           {"reward_accuracy", json_of(tuning.reward_accuracy)},
           {"exact_match", json_of(tuning.exact_match)},
           {"questions", json_of(tuning.questions)}};
  out["answers"] = Json::array();
  for (const AnswerPair& pair : tuning.answers)
    out["answers"].push_back({{"prompt", pair.prompt}, {"before", pair.before}, {"after", pair.after}});
  return out;
}

Json json_of(const Study& study, const RunReport& run) {
  Json out{{"file", study.sources[run.source].path}, {"name", run.name}, {"settings", run.settings}};
  out["ranks"] = run.ranks;
  out["repeat"] = run.repeat;
  out["status"] = run.status;
  out["early_stop_step"] = run.early_stop_step ? Json(*run.early_stop_step) : Json(nullptr);
  out["error"] = run.error;
  out["clock"] = run.clock;
  out["steps"] = run.num_steps;
  out["measured_steps"] = run.num_measured;
  out["unit"] = run.unit;
  out["rate_per_s"] = json_of(run.rate);
  out["step_s"] = json_of(run.step_time);
  out["mean_step_s"] = number(run.mean_step);
  out["mean_phase_s"] = run.measured() ? phases_of(run.phases) : Json(nullptr);
  out["rank_own_s"] = Json::array();
  for (const RankReport& rank : run.rank_reports)
    out["rank_own_s"].push_back(number(rank.own.value));
  out["memory_bytes"] = run.memory;
  out["bytes_a_step"] = run.transfers;
  if (run.text) out["text"] = json_of(*run.text);
  if (run.tuning) out["before_after"] = json_of(*run.tuning);
  out["quick"] = run.is_quick;
  return out;
}

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

Json json_of(const OptionEffect& effect) {
  return {{"option", effect.key},
          {"value", effect.value},
          {"baseline", effect.baseline},
          {"ratio", json_of(effect.ratio)},
          {"pairs_of_cells", effect.num_cells},
          {"not_completed", effect.num_unfinished},
          {"least", number(effect.least)},
          {"least_at", effect.least_at},
          {"most", number(effect.most)},
          {"most_at", effect.most_at}};
}

Json json_of(const MethodCell& cell) {
  Json out{{"configuration", cell.label},
           {"method", cell.method},
           {"objective", text_of(cell.objective)},
           {"ranks", cell.cell->ranks},
           {"iteration_s", json_of(cell.cell->step_time)},
           {"rate_per_s", json_of(cell.cell->rate)}};
  out["host_to_device_bytes_a_step"] = cell.on_cpu ? Json(nullptr) : number(cell.host_to_device);
  out["device_to_device_bytes_a_step"] = cell.on_cpu ? Json(nullptr) : number(cell.device_to_device);
  out["all_reduce_bytes_a_step"] = number(cell.reduced);
  out["all_reduce_bus_bytes_a_step"] = number(cell.on_bus);
  out["held_out_loss"] = json_of(cell.held_out_loss);
  out["preference_accuracy"] = json_of(cell.preference_accuracy);
  if (!cell.memory) return out;
  const MemorySplit& memory = *cell.memory;
  out["memory_bytes"] = {{"peak", memory.peak},           {"weights", memory.weights},
                         {"adapters", memory.adapters},   {"gradients", memory.gradients},
                         {"optimizer", memory.optimizer}, {"reference", memory.reference},
                         {"rest", memory.rest},           {"activations_predicted", number(memory.activations)}};
  return out;
}

Json json_of(const Study& study, const std::vector<Figure>& figures) {
  Json out{{"id", study.id}, {"title", study.title()}, {"scaling", text_of(study.scaling)}, {"unit", study.unit}};
  out["answers"] = json_of(study.answers);
  out["advice"] = json_of(study.advice);
  out["axes"] = Json::array();
  for (const Axis& axis : study.axes)
    out["axes"].push_back({{"key", axis.key}, {"values", axis.values}});
  out["configurations"] = Json::array();
  for (std::size_t i = 0; i < study.configurations.size(); ++i) {
    const Configuration& configuration = study.configurations[i];
    Json entry{{"label", configuration.full_label()}, {"settings", configuration.settings}};
    entry["options_label"] = configuration.label;
    entry["work_label"] = configuration.work_label;
    entry["baseline_ranks"] = configuration.baseline_ranks ? Json(*configuration.baseline_ranks) : Json(nullptr);
    entry["cells"] = Json::array();
    for (const Cell* cell : study.cells_of(i))
      entry["cells"].push_back(json_of(study, *cell));
    for (const ScalingPrediction& prediction : study.predictions)
      if (prediction.configuration == i) entry["prediction"] = json_of(prediction);
    out["configurations"].push_back(std::move(entry));
  }
  if (compares_methods(study)) {
    out["methods"] = Json::array();
    for (const MethodCell& cell : method_cells(study))
      out["methods"].push_back(json_of(cell));
  }
  out["options"] = Json::array();
  for (const OptionEffect& effect : study.effects)
    out["options"].push_back(json_of(effect));
  out["runs"] = Json::array();
  for (const RunReport& run : study.runs)
    out["runs"].push_back(json_of(study, run));
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
  out["classes"] = Json::array();
  for (const ClassScore& score : report.classes)
    out["classes"].push_back({{"name", score.name},
                              {"samples", score.samples},
                              {"correct", score.correct},
                              {"predicted", score.predicted},
                              {"precision", number(score.precision)},
                              {"recall", number(score.recall)},
                              {"f1", number(score.f1)}});
  out["confusion"] = Json::array();
  for (const ConfusionCount& entry : report.confusion)
    out["confusion"].push_back({entry.actual, entry.predicted, entry.count});
  return out;
}

Json json_of(const std::vector<CountedMethod>& all, const CountedMethod& method) {
  return {{"method", method.method},
          {"model", method.model},
          {"checkpointing", method.checkpointing},
          {"tokens", method.tokens},
          {"launches", method.launches()},
          {"launches_over_lora", number(launches_over_lora(all, method))},
          {"matrix_products", method.products},
          {"matrix_products_over_lora", number(products_over_lora(all, method))},
          {"flops", method.flops},
          {"host_to_device_bytes", method.host_to_device},
          {"device_to_device_bytes", method.device_to_device},
          {"all_reduce_bytes", method.reduced},
          {"memory_bytes",
           {{"peak", method.peak},
            {"weights", method.weights},
            {"adapters", method.adapters},
            {"gradients", method.gradients},
            {"optimizer", method.optimizer},
            {"reference", method.reference},
            {"rest", method.rest()}}}};
}

}  // namespace

std::string summary_json(const Collection& collection, const PageFigures& figures) {
  Json out{{"format", "multicard-summary"}, {"schema_version", 3}, {"notices", collection.notices}};
  out["headline"] = json_of(headline(collection));
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
  if (!collection.counted.empty()) {
    out["counted"] = Json::array();
    for (const CountedMethod& method : collection.counted)
      out["counted"].push_back(json_of(collection.counted, method));
  }
  return json_text(out, 1) + "\n";
}

}  // namespace multicard::post
