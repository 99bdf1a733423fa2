#pragma once
/// \file Who decides which jobs get which GPUs.

#include <vector>

#include "replay/ReplayJob.hpp"

namespace multicard {

/// Equal nodes.
struct ClusterShape {
  int nodes = 1, gpus_per_node = 1;
  int num_gpus() const { return nodes * gpus_per_node; }
};

/// Jobs that were submitted and are not complete, in the order of the workload.
using ActiveJobs = std::vector<const ReplayJob*>;

/// A policy over one replay. It may keep a state from round to round.
class SchedulingPolicy {
 public:
  virtual ~SchedulingPolicy() = default;

  /// The allocations of `jobs` from `now` on, one each.
  virtual std::vector<JobGpus> decide(double now, const ActiveJobs& jobs) = 0;

 protected:
  SchedulingPolicy() = default;
  SchedulingPolicy(const SchedulingPolicy&) = default;
  SchedulingPolicy& operator=(const SchedulingPolicy&) = default;
};

/// The GPUs of a cluster that nobody holds.
class FreeGpus {
 public:
  explicit FreeGpus(const ClusterShape& cluster);

  int count() const { return count_; }
  void take(const JobGpus& allocation);
  /// Takes GPUs from the node with the most free ones, then from the next; of equal ones the first.
  /// \pre gpus <= count()
  JobGpus take_widest(int gpus);
  /// Takes GPUs from as few nodes as possible: the last of them from the node where fewest are left over. The same.
  JobGpus take_tightest(int gpus);

 private:
  std::vector<int> free_;
  int count_;
};

/// The numbers of the jobs, those with the least attained service first.
std::vector<std::size_t> least_served_first(const ActiveJobs& jobs);

/// Counts of GPUs that a job with `model` can use alone in the cluster: any within a node, and whole nodes.
std::vector<int> usable_counts(const JobModel& model, const ClusterShape& cluster);

/// Allocations of `counts` GPUs a job. Jobs whose count is unchanged keep their nodes; the others, largest first, take
/// as few nodes as possible.
std::vector<JobGpus> place_largest_first(const ClusterShape& cluster, const ActiveJobs& jobs,
                                         const std::vector<int>& counts);
/// The same, smallest first, from the node with the most free GPUs.
std::vector<JobGpus> place_smallest_first(const ClusterShape& cluster, const ActiveJobs& jobs,
                                          const std::vector<int>& counts);

}  // namespace multicard
