#include "train/Recorder.hpp"

#include <limits>

namespace multicard {

void Recorder::add_step_counts(const std::map<std::string, std::int64_t>& counts) {
  for (const auto& [name, count] : counts)
    record_.counts[name].push_back(count);
}

void Recorder::add_step_times(const std::vector<MeasuredStep>& times) {
  for (const MeasuredStep& step : times) {
    record_.steps.push_back(step);
    if (step.host_data_wait) record_.extra_times["host_data_wait"].push_back(*step.host_data_wait);
  }
}

void Recorder::add_metric(const std::string& name, std::int64_t step, double value) {
  MetricSeries& series = metrics_[name];
  series.values.push_back(value);
  series.steps.push_back(step);
  if (feed_) feed_->add(name, step, value);
}

void Recorder::feed_metrics_to(MetricFeed& feed, std::int64_t first_step) {
  feed_ = &feed;
  for (const auto& [name, series] : metrics_)
    for (std::size_t i = 0; i < series.values.size(); ++i)
      // What was recorded before the feed was opened (an evaluation before the first step) must not be missing in it.
      if (series.steps[i] >= first_step) feed.add(name, series.steps[i], series.values[i]);
}

void Recorder::add_epoch_seconds(const std::string& name, std::int64_t epoch, double seconds) {
  // All three grow together, so that they are columns of one table.
  for (const char* column : {"train", "evaluate", "checkpoint"}) {
    std::vector<double>& values = record_.epochs[column];
    if (values.size() > static_cast<std::size_t>(epoch)) continue;
    values.resize(static_cast<std::size_t>(epoch), std::numeric_limits<double>::quiet_NaN());
    values.push_back(0.0);
  }
  record_.epochs[name][static_cast<std::size_t>(epoch)] += seconds;
}

}  // namespace multicard
