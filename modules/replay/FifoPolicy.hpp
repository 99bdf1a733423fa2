#pragma once
/// \file First come, first served.

#include "replay/SchedulingPolicy.hpp"

namespace multicard {

/// Whether jobs may overtake one that does not fit.
enum class Backfill { no, yes };

/// Jobs get the GPUs that users asked for, in the order of submission, and keep them to the end.
class FifoPolicy : public SchedulingPolicy {
 public:
  FifoPolicy(const ClusterShape& cluster, Backfill backfill) : cluster_(cluster), backfill_(backfill) {}

  std::vector<JobGpus> decide(double now, const ActiveJobs& jobs) override;

 private:
  ClusterShape cluster_;
  Backfill backfill_;
};

}  // namespace multicard
