#pragma once
/// \file A job of a replayed workload and what has become of it.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "scheduling/policy/JobModel.hpp"
#include "scheduling/policy/TaskView.hpp"

namespace multicard {

/// A job as it was submitted.
struct JobRequest {
  std::string name;
  double submission_s = 0;
  int gpus = 1;  ///< that the user asked for
  std::shared_ptr<const JobModel> model;
};

/// A job with its state. Times are seconds since the beginning of the replay.
class ReplayJob {
 public:
  explicit ReplayJob(JobRequest request);

  /// What policies know of it. What was measured of its steps is for a caller to fill in (MeasuredJobs).
  const TaskView& view() const { return view_; }
  TaskView& view() { return view_; }
  const JobModel& model() const { return *model_; }
  std::optional<double> completion_s() const { return completion_s_; }
  /// Seconds from one update to the next; nothing where it has no GPUs, or waits to continue.
  std::optional<double> update_seconds() const;

  /// Gives the job other GPUs, possibly none. It waits `restart_s` before it continues.
  void allocate(Placement placement, double restart_s);
  /// Lets time pass from `now` on. \throws DataError where no step time is known for its placement.
  void advance(double now, double seconds);

 private:
  TaskView view_;
  std::shared_ptr<const JobModel> model_;
  GpuPlacement ring_;
  LocalBatch batch_;
  double restart_left_ = 0;
  bool has_started_ = false;
  std::optional<double> completion_s_;
};

}  // namespace multicard
