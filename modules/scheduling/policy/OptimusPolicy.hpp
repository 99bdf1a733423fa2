#pragma once
/// \file GPUs by marginal gain (Optimus, EuroSys 2018), with the true step times and remaining updates.

#include "scheduling/policy/SchedulingPolicy.hpp"

namespace multicard {

/// Every job gets one GPU in order; then one at a time goes to the job whose remaining time shrinks most by it.
class OptimusPolicy : public SchedulingPolicy {
 public:
  explicit OptimusPolicy(const Machine& cluster) : cluster_(cluster) {}

  Decision decide(double now, const ActiveTasks& tasks) override;

 private:
  std::vector<int> counts(const ActiveTasks& tasks) const;

  Machine cluster_;
};

}  // namespace multicard
