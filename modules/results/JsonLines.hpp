#pragma once
/// \file Metrics for scripts.

#include "io/Bytes.hpp"
#include "results/MetricSink.hpp"

namespace multicard {

/// Whether all lines of a file could be of JsonLines.
bool is_metrics_file(const std::string& path);

/// A line of JSON for each step: {"step":12,"time":1774000000.25,"train_loss":0.61,...}. Metrics whose step is the
/// number of updates made (eval_*, checkpoint_*) have lines of their own. What is not finite is left out. A resumed run
/// keeps the lines before `first_step`. A file with other lines is a UsageError, and stays.
class JsonLines final : public MetricSink {
 public:
  JsonLines(const std::string& path, std::int64_t first_step);

  void add(const std::string& name, std::int64_t step, double value) override;
  /// Ends the line of the present step.
  void flush() override;

 private:
  void end_line();

  OutputFile file_;
  std::string line_;  ///< of the present step, without its end
  std::int64_t step_ = 0;
  bool counts_updates_ = false;
  std::string pending_;  ///< whole lines, not yet written
};

}  // namespace multicard
