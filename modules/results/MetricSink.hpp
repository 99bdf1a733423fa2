#pragma once
/// \file Metrics for those who watch a run while it trains.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace multicard {

/// Takes every value as it becomes known. Names and steps are those of the results file (docs/watching.md). Throws
/// DataError when the values cannot be stored.
class MetricSink {
 public:
  virtual ~MetricSink() = default;
  virtual void add(const std::string& name, std::int64_t step, double value) = 0;
  /// What was added so far stays, even when the process is killed.
  virtual void flush() = 0;
};

/// The time that sinks note.
double seconds_since_1970();

/// Passes values on to sinks. They are extras: one that fails is given up after a warning, and training continues.
class MetricFeed {
 public:
  /// \param warn is told, once for each sink, why it was given up
  explicit MetricFeed(std::function<void(const std::string&)> warn) : warn_(std::move(warn)) {}
  /// Flushes.
  ~MetricFeed();
  MetricFeed(const MetricFeed&) = delete;
  MetricFeed& operator=(const MetricFeed&) = delete;

  /// Adds the sink that `make` returns.
  void open(const std::function<std::unique_ptr<MetricSink>()>& make);
  void add(const std::string& name, std::int64_t step, double value);
  void flush();

 private:
  void each(const std::function<void(MetricSink&)>& body);
  void disable(const std::string& why) const;

  std::function<void(const std::string&)> warn_;
  std::vector<std::unique_ptr<MetricSink>> sinks_;
};

}  // namespace multicard
