#pragma once
/// \file Collects what a run measures, on every rank.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/StepClock.hpp"
#include "results/MetricSink.hpp"
#include "results/RankRecord.hpp"

namespace multicard {

/// The record of one run, filled while it trains.
class Recorder {
 public:
  explicit Recorder(std::string clock) { record_.clock = std::move(clock); }

  void add_step_samples(std::int64_t samples) { record_.samples.push_back(samples); }
  void add_step_counts(const std::map<std::string, std::int64_t>& counts);
  /// What a clock measured, one step after the other.
  void add_step_times(const std::vector<MeasuredStep>& times);
  void add_metric(const std::string& name, std::int64_t step, double value);
  /// Adds `seconds` to column `name` (train | evaluate | checkpoint) of epoch `epoch`. Epochs that were never named
  /// before a later one are NaN: this rank was not there.
  void add_epoch_seconds(const std::string& name, std::int64_t epoch, double seconds);

  /// Puts the metrics of an earlier part of the run in front.
  void continue_metrics(std::map<std::string, MetricSeries> before) { metrics_ = std::move(before); }
  /// From now on every metric goes to `feed` too, which must outlive the recorder; first those there are already from
  /// `first_step` on.
  void feed_metrics_to(MetricFeed& feed, std::int64_t first_step);

  RankRecord& record() { return record_; }
  const std::map<std::string, MetricSeries>& metrics() const { return metrics_; }
  const std::vector<StepTimes>& steps() const { return record_.steps; }

 private:
  RankRecord record_;
  std::map<std::string, MetricSeries> metrics_;
  MetricFeed* feed_ = nullptr;
};

}  // namespace multicard
