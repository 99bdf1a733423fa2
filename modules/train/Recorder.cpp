#include "train/Recorder.hpp"

#include <limits>

namespace multicard {

void Recorder::add_step_times(const std::vector<StepTimes>& times) {
  record_.steps.insert(record_.steps.end(), times.begin(), times.end());
}

void Recorder::add_metric(const std::string& name, std::int64_t step, double value) {
  MetricSeries& series = metrics_[name];
  series.values.push_back(value);
  series.steps.push_back(step);
}

void Recorder::add_epoch_seconds(const std::string& name, std::int64_t epoch, double seconds) {
  for (const char* column : {"train", "evaluate", "checkpoint"}) {
    std::vector<double>& values = record_.epochs[column];
    if (values.size() > static_cast<std::size_t>(epoch)) continue;
    values.resize(static_cast<std::size_t>(epoch), std::numeric_limits<double>::quiet_NaN());
    values.push_back(0.0);
  }
  record_.epochs[name][static_cast<std::size_t>(epoch)] += seconds;
}

}  // namespace multicard
