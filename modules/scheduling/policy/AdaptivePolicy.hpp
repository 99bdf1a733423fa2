#pragma once
/// \file The policy `adaptive`: as measurements and predictions say.

#include "scheduling/policy/AdaptiveSplit.hpp"
#include "scheduling/policy/SchedulingPolicy.hpp"
#include "scheduling/policy/SplitHistory.hpp"

namespace multicard {

/// decide_adaptively(), with a gain that grows with every repeated change (SplitHistory).
class AdaptivePolicy : public SchedulingPolicy {
 public:
  AdaptivePolicy(const AdaptiveOptions& options, const Layout& layout) : options_(options), layout_(layout) {}

  Decision decide(double now, const ActiveTasks& tasks) override;

 private:
  AdaptiveOptions options_;
  Layout layout_;
  SplitHistory history_;
};

}  // namespace multicard
