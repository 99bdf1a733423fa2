#pragma once
/// \file First come, first served.

#include "scheduling/policy/SchedulingPolicy.hpp"

namespace multicard {

/// Whether tasks may overtake one that does not fit.
enum class Backfill { no, yes };

/// Jobs get the GPUs that users asked for, in the order of submission, and keep them to the end.
class FifoPolicy : public SchedulingPolicy {
 public:
  FifoPolicy(const Machine& cluster, Backfill backfill) : cluster_(cluster), backfill_(backfill) {}

  Decision decide(double now, const ActiveTasks& tasks) override;

 private:
  Machine cluster_;
  Backfill backfill_;
};

}  // namespace multicard
