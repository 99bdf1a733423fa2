#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Number.hpp"
#include "base/Text.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/OptionEffect.hpp"

namespace multicard::post {

namespace {

/// A header and a value, kept together so that they cannot get out of step.
struct Column {
  std::string name;
  std::string value;
};

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string();
}

/// Spreadsheets compute what begins like a formula; an apostrophe in front makes it text. Numbers stay numbers.
bool looks_like_a_formula(const std::string& text) {
  return text.size() > 1 && std::string("=+-@\t\r").find(text.front()) != std::string::npos &&
         !parse_number<double>(text);
}

std::string field(const std::string& value) {
  std::string text = looks_like_a_formula(value) ? "'" + value : value;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text)
    out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void add(std::vector<Column>& columns, const std::string& name, const Estimate& estimate) {
  const Interval interval = estimate.interval.value_or(Interval{});
  columns.push_back({name, number(estimate.value)});
  columns.push_back({name + "_low", number(interval.low)});
  columns.push_back({name + "_high", number(interval.high)});
}

std::string stragglers_of(const RunReport& run) {
  std::vector<std::string> ranks;
  for (std::size_t rank = 0; rank < run.rank_reports.size(); ++rank)
    if (run.rank_reports[rank].straggler) ranks.push_back(std::to_string(rank));
  return join(ranks, " ");
}

double last_of(const RunReport& run, const std::string& metric) {
  const auto found = run.metrics.find(metric);
  return found == run.metrics.end() || found->second.values.empty() ? kNone : found->second.values.back();
}

std::string memory_of(const RunReport& run, const std::string& name) {
  const auto found = run.memory.find(name);
  return found == run.memory.end() ? std::string() : std::to_string(found->second);
}

/// The axes of any study, each once.
std::vector<std::string> axis_keys(const Collection& collection) {
  std::vector<std::string> keys;
  for (const Study& study : collection.studies)
    for (const Axis& axis : study.axes)
      if (std::find(keys.begin(), keys.end(), axis.key) == keys.end()) keys.push_back(axis.key);
  return keys;
}

/// By deck path, or the run's own attribute: the axes of one study are fixed in another.
std::string known_setting(const RunReport& run, const std::string& key) {
  const std::string value = setting(run, key);
  return value.empty() ? setting(run, short_key(key)) : value;
}

/// A line of the columns' names, or values.
std::string csv_line(const std::vector<Column>& columns, std::string Column::*part) {
  std::vector<std::string> fields;
  fields.reserve(columns.size());
  for (const Column& column : columns)
    fields.push_back(field(column.*part));
  return join(fields, ",") + "\n";
}

/// The header from the columns, then the lines.
std::string csv_of(const std::vector<std::vector<Column>>& lines) {
  std::string text;
  for (const std::vector<Column>& line : lines) {
    if (text.empty()) text = csv_line(line, &Column::name);
    text += csv_line(line, &Column::value);
  }
  return text;
}

std::vector<Column> columns_of(const Study& study, const RunReport& run, std::size_t study_number,
                               const std::vector<std::string>& axes) {
  std::vector<Column> columns{
      {"file", study.sources[run.source].path}, {"run", run.name}, {"study", std::to_string(study_number)}};
  for (const char* key : {"task", "model", "method", "strategy", "backend", "precision", "global_batch"})
    columns.push_back({key, setting(run, key)});
  for (const std::string& key : axes)
    if (std::none_of(columns.begin(), columns.end(), [&](const Column& c) { return c.name == key; }))
      columns.push_back({key, known_setting(run, key)});
  columns.push_back({"ranks", std::to_string(run.ranks)});
  columns.push_back({"repeat", std::to_string(run.repeat)});
  columns.push_back({"quick", run.is_quick ? "1" : "0"});
  columns.push_back({"status", run.status});
  columns.push_back({"early_stop_step", run.early_stop_step ? std::to_string(*run.early_stop_step) : ""});
  columns.push_back({"clock", run.clock});
  columns.push_back({"steps", std::to_string(run.num_steps)});
  columns.push_back({"measured_steps", std::to_string(run.num_measured)});
  columns.push_back({"unit", run.unit});
  add(columns, "rate_per_s", run.rate);
  add(columns, "step_s", run.step_time);
  columns.push_back({"mean_step_s", number(run.mean_step)});
  for (std::size_t p = 0; p < kNumPhases; ++p)
    columns.push_back({fmt::format("mean_{}_s", kPhaseNames[p]), run.measured() ? number(run.phases[p]) : ""});
  columns.push_back({"exposed_share", number(run.exposed_share)});
  columns.push_back({"data_wait_share", number(run.data_wait_share)});
  columns.push_back({"rank_spread", number(run.rank_spread)});
  columns.push_back({"stragglers", stragglers_of(run)});
  const TextReport text = run.text.value_or(TextReport{});
  columns.push_back({"tokens_a_step", number(text.tokens)});
  columns.push_back({"trained_tokens_a_step", number(text.trained)});
  columns.push_back({"computed_tokens_a_step", number(text.computed)});
  columns.push_back({"token_imbalance", number(text.imbalance)});
  columns.push_back({"longest_row", text.longest_row > 0 ? std::to_string(text.longest_row) : ""});
  for (const char* name : {"host_peak_bytes", "device_peak_bytes"})
    columns.push_back({name, memory_of(run, name)});
  for (const char* direction : {"host_to_device", "device_to_device"}) {
    const auto found = run.transfers.find(direction);
    columns.push_back(
        {fmt::format("{}_bytes_a_step", direction), found == run.transfers.end() ? "" : number(found->second)});
  }
  for (const char* name : {"train", "evaluate", "checkpoint"}) {
    const auto found = run.epoch_seconds.find(name);
    columns.push_back({fmt::format("{}_s", name), found == run.epoch_seconds.end() ? "" : number(found->second)});
  }
  for (const char* metric : {"train_loss", "eval_loss", "eval_accuracy"})
    columns.push_back({fmt::format("last_{}", metric), number(last_of(run, metric))});
  columns.push_back({"error", run.error});
  return columns;
}

/// The first line of the first error in a cell.
std::string error_of(const Study& study, const Cell& cell) {
  for (const std::size_t run : cell.runs)
    if (!study.runs[run].error.empty()) return study.runs[run].error;
  return {};
}

std::vector<Column> columns_of(const Study& study, const Cell& cell, std::size_t study_number,
                               const std::vector<std::string>& axes) {
  const Configuration& configuration = study.configuration(cell);
  std::vector<Column> columns{{"study", std::to_string(study_number)}, {"configuration", configuration.full_label()}};
  for (const std::string& key : axes) {
    const auto found = configuration.settings.find(key);
    columns.push_back(
        {key, found == configuration.settings.end() ? known_setting(study.runs[cell.runs[0]], key) : found->second});
  }
  columns.push_back({"ranks", std::to_string(cell.ranks)});
  columns.push_back({"status", text_of(cell.status)});
  columns.push_back({"complete", std::to_string(cell.status == CellStatus::complete ? cell.num_repeats() : 0)});
  columns.push_back({"runs", std::to_string(cell.runs.size())});
  columns.push_back({"unit", study.unit});
  columns.push_back({"interval_over", text_of(cell.rate.basis)});
  add(columns, "rate_per_s", cell.rate);
  add(columns, "s_per_thousand", cell.time_per_thousand());
  add(columns, "step_s", cell.step_time);
  add(columns, "speedup", cell.speedup);
  add(columns, "efficiency", cell.efficiency);
  for (std::size_t p = 0; p < kNumPhases; ++p)
    columns.push_back({fmt::format("{}_share", kPhaseNames[p]), number(cell.phases[p] / cell.mean_step)});
  columns.push_back({"rank_spread", number(cell.rank_spread)});
  add(columns, "test_loss", cell.test_loss);
  add(columns, "test_accuracy", cell.test_accuracy);
  columns.push_back({"error", error_of(study, cell)});
  return columns;
}

std::vector<Column> columns_of(const OptionEffect& effect, std::size_t study_number) {
  std::vector<Column> columns{{"study", std::to_string(study_number)},
                              {"option", effect.key},
                              {"value", effect.value},
                              {"baseline", effect.baseline}};
  add(columns, "ratio", effect.ratio);
  columns.push_back({"interval_over", text_of(effect.ratio.basis)});
  columns.push_back({"pairs_of_runs", std::to_string(effect.ratio.num_values)});
  columns.push_back({"pairs_of_cells", std::to_string(effect.num_cells)});
  columns.push_back({"not_completed", std::to_string(effect.num_unfinished)});
  columns.push_back({"least", number(effect.least)});
  columns.push_back({"least_at", effect.least_at});
  columns.push_back({"most", number(effect.most)});
  columns.push_back({"most_at", effect.most_at});
  return columns;
}

}  // namespace

std::string runs_csv(const Collection& collection) {
  const std::vector<std::string> axes = axis_keys(collection);
  std::vector<std::vector<Column>> lines;
  for (std::size_t i = 0; i < collection.studies.size(); ++i)
    for (const RunReport& run : collection.studies[i].runs)
      lines.push_back(columns_of(collection.studies[i], run, i + 1, axes));
  return csv_of(lines);
}

std::string cells_csv(const Collection& collection) {
  const std::vector<std::string> axes = axis_keys(collection);
  std::vector<std::vector<Column>> lines;
  for (std::size_t i = 0; i < collection.studies.size(); ++i)
    for (const Cell& cell : collection.studies[i].cells)
      lines.push_back(columns_of(collection.studies[i], cell, i + 1, axes));
  return csv_of(lines);
}

std::string options_csv(const Collection& collection) {
  std::vector<std::vector<Column>> lines;
  for (std::size_t i = 0; i < collection.studies.size(); ++i)
    for (const OptionEffect& effect : collection.studies[i].effects)
      lines.push_back(columns_of(effect, i + 1));
  if (lines.empty()) return csv_line(columns_of(OptionEffect{}, 1), &Column::name);
  return csv_of(lines);
}

}  // namespace multicard::post
