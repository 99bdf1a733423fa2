#include "watch/Prometheus.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/Utf8.hpp"
#include "io/OwnFiles.hpp"

namespace multicard {

namespace {

constexpr std::string_view kFirstLine = "# HELP multicard_info ";

/// The value of a label: backslash, quote and line feed are escaped, and the text must be UTF-8.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char character : repaired_utf8(text)) {
    if (character == '\\' || character == '"') out += '\\';
    if (character == '\n')
      out += "\\n";
    else
      out += character;
  }
  return out;
}

/// Writes one metric after the other; a metric without a known value is left out with its heading.
class Metrics {
 public:
  using Labels = std::vector<std::pair<const char*, std::string>>;

  explicit Metrics(const std::string& output) : output_(escaped(output)) {}

  /// What add() writes from now on.
  void metric(const char* name, const char* type, const char* help) {
    name_ = name;
    heading_ = fmt::format("# HELP multicard_{0} {2}\n# TYPE multicard_{0} {1}\n", name, type, help);
  }
  void add(double value, const Labels& labels = {}) {
    if (!std::isfinite(value)) return;
    text_ += std::exchange(heading_, {});
    text_ += fmt::format("multicard_{}{{output=\"{}\"", name_, output_);
    for (const auto& [label, of_label] : labels)
      text_ += fmt::format(",{}=\"{}\"", label, escaped(of_label));
    text_ += fmt::format("}} {}\n", value);
  }
  void gauge(const char* name, const char* help, double value, const Labels& labels = {}) {
    metric(name, "gauge", help);
    add(value, labels);
  }
  const std::string& text() const { return text_; }

 private:
  std::string output_, name_, heading_, text_;
};

void add_process(Metrics& metrics, const WatchStatus& status) {
  metrics.gauge("info", "The program that writes these metrics; always 1.", 1,
                {{"version", status.version}, {"kind", status.kind}, {"host", status.host}});
  metrics.metric("state", "gauge", "1 for what it does or how it has ended, 0 for the other states.");
  for (const char* state : kWatchStateNames)
    metrics.add(status.state == state ? 1 : 0, {{"state", state}});
  metrics.gauge("start_time_seconds", "When the program began, since 1970.", status.started);
  metrics.gauge("update_time_seconds", "When these metrics were written, since 1970.", status.updated);
}

void add_progress(Metrics& metrics, const WatchedRun& run) {
  metrics.gauge("ranks", "Ranks that train.", static_cast<double>(run.ranks));
  metrics.metric("steps_total", "counter", "Steps completed, those before a resume included.");
  metrics.add(static_cast<double>(run.step));
  metrics.gauge("steps_planned", "Steps of the whole run.", static_cast<double>(run.total_steps));
  metrics.gauge("epoch", "The present epoch, from 1.", static_cast<double>(run.epoch));
  metrics.metric("work_units_total", "counter", "Images or tokens trained on since the run began here.");
  metrics.add(run.worked_units, {{"unit", run.unit}});
  metrics.gauge("work_units_per_second", "Images or tokens per second, mean of the newest steps.", run.rate,
                {{"unit", run.unit}});
  metrics.gauge("training_loss", "Training loss of the newest step.", run.loss);
  metrics.gauge("learning_rate", "Learning rate of the newest step.", run.learning_rate);
  metrics.gauge("remaining_seconds", "Predicted time until the last step, without evaluations.", run.left_s);
  metrics.metric("evaluation", "gauge", "The last value of each metric of the test set.");
  for (const auto& [name, value] : run.evaluation)
    metrics.add(value, {{"metric", name}});
}

void add_times(Metrics& metrics, const WatchedRun& run) {
  metrics.gauge("step_seconds", "Time of a step, mean of the newest steps.", run.step_s);
  metrics.metric("phase_ratio", "gauge", "Share of the step time, of the rank that writes.");
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    metrics.add(run.phases[i], {{"phase", kPhaseNames[i]}});
  metrics.metric("rank_own_seconds", "gauge", "Time of a step without waiting for collectives.");
  for (const WatchedRank& rank : run.per_rank)
    metrics.add(rank.own_s, {{"rank", std::to_string(rank.rank)}});
  metrics.metric("rank_core_wait_ratio", "gauge", "Share of the time in which the training thread had no core.");
  for (const WatchedRank& rank : run.per_rank)
    metrics.add(rank.core_wait_share, {{"rank", std::to_string(rank.rank)}});
}

void add_memory(Metrics& metrics, const WatchedRun& run) {
  metrics.metric("memory_bytes", "gauge", "Memory of the rank that writes, now.");
  for (const WatchedMemory& memory : run.memory)
    metrics.add(static_cast<double>(memory.now), {{"kind", memory.kind}});
  metrics.metric("memory_peak_bytes", "gauge", "The same, at most so far.");
  for (const WatchedMemory& memory : run.memory)
    metrics.add(static_cast<double>(memory.peak), {{"kind", memory.kind}});
  metrics.metric("memory_predicted_bytes", "gauge", "Tensors of a rank as predicted before the first step.");
  for (const auto& [kind, bytes] : run.predicted)
    metrics.add(static_cast<double>(bytes), {{"kind", kind}});
}

void add_events(Metrics& metrics, const WatchedRun& run) {
  if (run.checkpoint.step >= 0) {
    metrics.gauge("checkpoint_step", "Updates in the newest checkpoint.", static_cast<double>(run.checkpoint.step));
    metrics.gauge("checkpoint_time_seconds", "When the newest checkpoint was written, since 1970.",
                  run.checkpoint.time);
    metrics.gauge("checkpoint_write_seconds", "How long writing it took.", run.checkpoint.write_s);
    metrics.gauge("checkpoint_wait_seconds", "How long training waited for it.", run.checkpoint.training_s);
  }
  metrics.metric("finding_ratio", "gauge", "What slows the run down, with the share of the time that it costs.");
  for (const WatchedFinding& finding : run.findings)
    metrics.add(finding.share, {{"id", finding.id}, {"setting", finding.setting}});
}

void add_sweep(Metrics& metrics, const WatchedSweep& sweep) {
  metrics.metric("sweep_variants", "gauge", "Variants of the sweep.");
  metrics.add(static_cast<double>(sweep.done - sweep.failed), {{"state", "complete"}});
  metrics.add(static_cast<double>(sweep.failed), {{"state", "failed"}});
  metrics.add(static_cast<double>(sweep.total - sweep.done), {{"state", "open"}});
  metrics.gauge("sweep_remaining_seconds", "Expected time until the last variant ends.", sweep.left_s);
}

}  // namespace

std::string prometheus_text(const WatchStatus& status, const std::string& output) {
  Metrics metrics(output);
  add_process(metrics, status);
  if (status.sweep) add_sweep(metrics, *status.sweep);
  if (status.run) {
    add_progress(metrics, *status.run);
    add_times(metrics, *status.run);
    add_memory(metrics, *status.run);
    add_events(metrics, *status.run);
  }
  return metrics.text();
}

bool is_prometheus_file(const std::string& path) {
  return content_says(path, kFirstLine, "multicard_state");
}

}  // namespace multicard
