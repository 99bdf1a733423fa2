#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/page/JsonValues.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

using Json = Value::Json;
using Run = RunReport;

/// "1 3"; blanks, since commas separate fields.
std::string stragglers_of(const Run& run) {
  std::vector<std::string> ranks;
  for (std::size_t rank = 0; rank < run.rank_reports.size(); ++rank)
    if (run.rank_reports[rank].straggler) ranks.push_back(std::to_string(rank));
  return join(ranks, " ");
}

/// By rank.
Json own_times(const Run& run) {
  Json out = Json::array();
  for (const RankReport& rank : run.rank_reports)
    out.push_back(number(rank.own.value));
  return out;
}

const Columns<TextReport>& text_columns() {
  static const Columns<TextReport> kColumns{{"rows_a_step", kJson, &TextReport::rows},
                                            {"tokens_a_step", kCsv | kJson, &TextReport::tokens},
                                            {"trained_tokens_a_step", kCsv | kJson, &TextReport::trained},
                                            {"computed_tokens_a_step", kCsv | kJson, &TextReport::computed},
                                            {"token_imbalance", kCsv | kJson, &TextReport::imbalance},
                                            {"longest_row", kJson, &TextReport::longest_row},
                                            {"longest_row", kCsv, [](const TextReport& text) {
                                               return text.longest_row > 0 ? Value(text.longest_row) : Value();
                                             }}};
  return kColumns;
}

Json answers_json(const TuningReport& tuning) {
  Json out = Json::array();
  for (const AnswerPair& pair : tuning.answers)
    out.push_back({{"prompt", pair.prompt}, {"before", pair.before}, {"after", pair.after}});
  return out;
}

Columns<TuningReport> tuning_columns() {
  Columns<TuningReport> columns;
  for (const TuningReport::Score& score : TuningReport::kScores)
    columns.push_back(
        {score.name, kJson, [change = score.change](const TuningReport& tuning) {
           return Json{{"before", number((tuning.*change).before)}, {"after", number((tuning.*change).after)}};
         }});
  columns.push_back({"answers", kJson, answers_json});
  return columns;
}

/// The bytes of a memory counter.
Column<Run> memory_column(const std::string& name) {
  return {name, kCsv, [name](const Run& run) {
            const auto found = run.memory.find(name);
            return found == run.memory.end() ? Value() : Value(found->second);
          }};
}

/// What identifies a run: its name, file and settings.
Columns<Run> identity_columns(const Study& study, std::size_t number, const std::vector<std::string>& axes) {
  const auto path = [&study](const Run& run) { return study.sources[run.source].path; };
  Columns<Run> columns{{"run", &Run::name},
                       {"file", kCsv | kJson, path},
                       {"run", kCsv, &Run::name},
                       {"name", kJson, &Run::name},
                       {"study", kCsv, [number](const Run&) { return number; }},
                       {"settings", kJson, [](const Run& run) { return Json(run.settings); }}};
  if (study.sources.size() > 1) columns.push_back({"file", path});
  for (const char* key : {"task", "model", "method", "strategy", "backend", "precision", "global_batch"})
    columns.push_back({key, kCsv, [key](const Run& run) { return setting(run, key); }});
  // Axes that are among those settings have a column already.
  for (const std::string& key : axes)
    if (std::ranges::none_of(columns,
                             [&](const Column<Run>& column) { return column.is_in(kCsv) && column.name == key; }))
      columns.push_back({key, kCsv, [key](const Run& run) { return known_setting(run, key); }});
  for (const std::string& key : axes)
    columns.push_back({"axis." + key, kCsv, [key](const Run& run) { return axis_text(known_setting(run, key)); }});
  for (const Axis& axis : study.axes)
    columns.push_back({study.keys.label(axis.key), [key = axis.key](const Run& run) {
                         const std::string value = setting(run, key);
                         return short_value(short_key(key) == "model" ? last_name(value) : value);
                       }});
  return columns;
}

/// Memory, copies, seconds of epochs and what was learnt last.
Columns<Run> total_columns() {
  Columns<Run> columns{{"memory_bytes", kJson, [](const Run& run) { return Json(run.memory); }},
                       memory_column("host_peak_bytes"),
                       memory_column("device_peak_bytes"),
                       {"bytes_a_step", kJson, [](const Run& run) { return Json(run.transfers); }}};
  for (const std::string direction : {"host_to_device", "device_to_device"})
    columns.push_back({direction + "_bytes_a_step", kCsv,
                       [direction](const Run& run) { return number_in(run.transfers, direction); }});
  for (const std::string name : {"train", "evaluate", "checkpoint"})
    columns.push_back({name + "_s", kCsv, [name](const Run& run) { return number_in(run.epoch_seconds, name); }});
  for (const std::string name : {"train_loss", "eval_loss", "eval_accuracy"})
    columns.push_back({"last_" + name, kCsv, [name](const Run& run) {
                         const MetricSeries* metric = run.metric(name);
                         return metric ? metric->values.back() : kNone;
                       }});
  return columns;
}

}  // namespace

std::string known_setting(const RunReport& run, const std::string& key) {
  const std::string value = setting(run, key);
  return value.empty() ? setting(run, short_key(key)) : value;
}

std::string axis_text(const std::string& value) {
  // What pandas.read_csv takes for a missing value: groupby() would leave these rows out.
  static const std::set<std::string> kReadAsMissing{"#N/A", "#N/A N/A", "#NA",     "-1.#IND", "-1.#QNAN", "-NaN",
                                                    "-nan", "1.#IND",   "1.#QNAN", "<NA>",    "N/A",      "NA",
                                                    "NULL", "NaN",      "None",    "n/a",     "nan"};
  if (value == "null") return "not set";
  return kReadAsMissing.contains(value) ? '"' + value + '"' : value;
}

Value::Json phases_json(const Measured& measured) {
  Json out = Json::object();
  for (std::size_t p = 0; p < kNumPhases; ++p)
    out[kPhaseNames[p]] = number(measured.phases[p]);
  return out;
}

Columns<RunReport> run_columns(const Study& study, std::size_t number, const std::vector<std::string>& axes) {
  Columns<Run> columns = identity_columns(study, number, axes);
  append(columns, {{"ranks", kCsv | kJson | kPage, &Run::ranks, "ranks"},
                   {"repeat", kCsv | kJson | kPage, &Run::repeat, "repeat"},
                   {"quick", kCsv, &Run::is_quick},
                   {"status", kCsv | kJson, &Run::status},
                   {"status", &Run::outcome},
                   {"early_stop_step", kCsv | kJson, &Run::early_stop_step},
                   {"error", kJson, &Run::error},
                   {"clock", kCsv | kJson, &Run::clock},
                   {"steps", kCsv | kJson, &Run::num_steps},
                   {"measured_steps", kCsv | kJson, &Run::num_measured},
                   {"unit", kCsv | kJson, &Run::unit},
                   {"rate_per_s", kCsv | kJson | kPage, &Run::rate, study.rate_unit()},
                   {"step_s", kCsv | kJson | kPage, &Run::step_time, "step, ms", Format::milliseconds},
                   {"mean_step_s", kCsv | kJson, &Run::mean_step},
                   {"mean_phase_s", kJson, [](const Run& run) { return run.measured() ? phases_json(run) : Json(); }}});
  for (std::size_t p = 0; p < kNumPhases; ++p)
    columns.push_back({fmt::format("mean_{}_s", kPhaseNames[p]), kCsv,
                       [p](const Run& run) { return run.measured() ? run.phases[p] : kNone; }});
  append(columns, {{"exposed_share", kCsv | kPage, &Run::exposed_share, "exposed", Format::percent},
                   {"data_wait_share", kCsv | kPage, &Run::data_wait_share, "data wait", Format::percent},
                   {"rank_spread", kCsv | kPage, &Run::rank_spread, "rank spread", Format::three_digits},
                   {"steps", &Run::num_steps},
                   {"stragglers", kCsv, stragglers_of},
                   {"rank_own_s", kJson, own_times}});
  for (const Column<TextReport>& column : text_columns())
    if (column.is_in(kCsv))
      columns.push_back(
          {column.name, kCsv, [column](const Run& run) { return column.of(run.text.value_or(TextReport{})); }});
  append(columns, total_columns());
  append(columns, {{"text", kJson, [](const Run& run) { return json_value(text_columns(), run.text); }},
                   {"before_after", kJson, [](const Run& run) { return json_value(tuning_columns(), run.tuning); }},
                   {"findings", kJson, [](const Run& run) { return json_of(run.findings); }},
                   {"error", kCsv | kPage, &Run::error, "error"},
                   {"quick", kJson, &Run::is_quick}});
  return columns;
}

}  // namespace multicard::post
