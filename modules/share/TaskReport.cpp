#include "share/TaskReport.hpp"

#include <algorithm>

namespace multicard {

namespace {

constexpr std::ptrdiff_t kFirstStep = 8;  ///< what precedes the times of steps

}  // namespace

// Of doubles and of fixed length, so that a report is one broadcast. Counts of steps are exact in them below 2^53.
ReportNumbers numbers_of(const TaskReport& report) {
  ReportNumbers numbers{static_cast<double>(report.num_completed),
                        static_cast<double>(report.num_steps),
                        report.step_s,
                        report.has_ended ? 1.0 : 0.0,
                        report.is_stopped ? 1.0 : 0.0,
                        report.gradient_bytes,
                        report.loss,
                        static_cast<double>(report.new_step_s.size())};
  std::ranges::copy(report.new_step_s, numbers.begin() + kFirstStep);
  return numbers;
}

TaskReport report_of(const ReportNumbers& numbers) {
  const auto first = numbers.begin() + kFirstStep;
  TaskReport report;
  report.num_completed = static_cast<std::int64_t>(numbers[0]);
  report.num_steps = static_cast<std::int64_t>(numbers[1]);
  report.step_s = numbers[2];
  report.has_ended = numbers[3] != 0;
  report.is_stopped = numbers[4] != 0;
  report.gradient_bytes = numbers[5];
  report.loss = numbers[6];
  report.new_step_s.assign(first, first + static_cast<std::ptrdiff_t>(numbers[7]));
  return report;
}

}  // namespace multicard
