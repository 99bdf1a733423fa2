#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Axes.hpp"
#include "postproc/Tables.hpp"

namespace multicard::post {

namespace {

/// A header with a value for each run, so that the two cannot fall apart.
struct Column {
  std::string name;
  std::string value;
};

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{:.9g}", value) : std::string();
}

std::string field(const std::string& text) {
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

std::vector<Column> columns_of(const Study& study, const RunReport& run) {
  std::vector<Column> columns{{"file", study.sources[run.source].path}, {"run", run.name}};
  for (const char* key : {"task", "model", "method", "strategy", "backend", "precision", "global_batch"})
    columns.push_back({key, setting(run, key)});
  for (const Axis& axis : study.axes)
    if (std::none_of(columns.begin(), columns.end(), [&](const Column& c) { return c.name == axis.key; }))
      columns.push_back({axis.key, setting(run, axis.key)});
  columns.push_back({"ranks", std::to_string(run.ranks)});
  columns.push_back({"repeat", std::to_string(run.repeat)});
  columns.push_back({"status", run.status});
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
  for (const char* name : {"host_peak_bytes", "device_peak_bytes"})
    columns.push_back({name, memory_of(run, name)});
  for (const char* name : {"train", "evaluate", "checkpoint"}) {
    const auto found = run.epoch_seconds.find(name);
    columns.push_back({fmt::format("{}_s", name), found == run.epoch_seconds.end() ? "" : number(found->second)});
  }
  for (const char* metric : {"train_loss", "eval_loss", "eval_accuracy"})
    columns.push_back({fmt::format("last_{}", metric), number(last_of(run, metric))});
  columns.push_back({"error", run.error});
  return columns;
}

}  // namespace

std::string runs_csv(const Study& study) {
  std::string head, body;
  for (const RunReport& run : study.runs) {
    std::vector<std::string> names, values;
    for (const Column& column : columns_of(study, run)) {
      names.push_back(field(column.name));
      values.push_back(field(column.value));
    }
    head = join(names, ",") + "\n";
    body += join(values, ",") + "\n";
  }
  return head + body;
}

}  // namespace multicard::post
