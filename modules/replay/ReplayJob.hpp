#pragma once
/// \file A job of a replayed workload and what has become of it.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replay/JobModel.hpp"

namespace multicard {

/// GPUs of one node.
struct NodeGpus {
  int node = 0, gpus = 0;
  bool operator==(const NodeGpus&) const = default;
};

/// The GPUs of one job, in the order of its ring.
using JobGpus = std::vector<NodeGpus>;

int num_gpus(const JobGpus& allocation);
GpuPlacement placement_of(const JobGpus& allocation);

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
  explicit ReplayJob(JobRequest request) : request_(std::move(request)) {}

  const JobRequest& request() const { return request_; }
  const JobModel& model() const { return *request_.model; }
  const JobGpus& allocation() const { return allocation_; }
  int epoch() const { return epoch_; }
  double progress() const { return progress_; }
  /// GPU-seconds held so far, waiting for restarts included.
  double attained_service() const { return attained_service_; }
  /// How often its GPUs changed after its first start.
  int num_restarts() const { return std::max(num_restarts_, 0); }
  std::optional<double> completion_s() const { return completion_s_; }

  /// Gives the job other GPUs, possibly none. It waits `restart_s` before it continues.
  void allocate(JobGpus allocation, double restart_s);
  /// Lets time pass from `now` on. \throws DataError where no step time is known for its placement.
  void advance(double now, double seconds);

 private:
  JobRequest request_;
  JobGpus allocation_;
  GpuPlacement placement_;
  LocalBatch batch_;
  double restart_left_ = 0, attained_service_ = 0, progress_ = 0;
  int epoch_ = 0, num_restarts_ = -1;  ///< the first start is none
  std::optional<double> completion_s_;
};

}  // namespace multicard
