#pragma once
/// \file What the ranks of a task report to all ranks of a share.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/Estimate.hpp"

namespace multicard {

constexpr std::size_t kMostReported = 32;

/// What a task's root sends to all ranks in a scheduling round.
struct TaskReport {
  std::int64_t num_completed = 0, num_steps = 0;
  double step_s = 0;          ///< median of the newest steps; 0: none is measured on these ranks yet
  double gradient_bytes = 0;  ///< that a step all-reduces
  double loss = kNone;        ///< of the newest step on these ranks whose loss is known; NaN: none is yet
  /// Of steps since the last report, oldest first. Where those are more than kMostReported, means of as many equal
  /// parts of them, so that all of the time counts.
  std::vector<double> new_step_s = {};
  bool has_ended = false;   ///< the run is complete, stopped or failed
  bool is_stopped = false;  ///< because that was requested
};

/// A report as a message of fixed length.
using ReportNumbers = std::array<double, 8 + kMostReported>;
/// \pre at most kMostReported new steps
ReportNumbers numbers_of(const TaskReport& report);
TaskReport report_of(const ReportNumbers& numbers);

}  // namespace multicard
