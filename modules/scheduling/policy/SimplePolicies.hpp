#pragma once
/// \file Policies that measure nothing.

#include "scheduling/policy/SchedulingPolicy.hpp"

namespace multicard {

/// The policies `fixed` and `equal`: each task as many ranks as it requests, in order, while they last; others wait.
class RequestedPolicy : public SchedulingPolicy {
 public:
  explicit RequestedPolicy(const Layout& layout) : layout_(layout) {}

  Decision decide(double now, const ActiveTasks& tasks) override;

 private:
  Layout layout_;
};

/// The policy `sequential`: the first task all ranks that it may have.
class SequentialPolicy : public SchedulingPolicy {
 public:
  explicit SequentialPolicy(const Layout& layout) : layout_(layout) {}

  Decision decide(double now, const ActiveTasks& tasks) override;

 private:
  Layout layout_;
};

}  // namespace multicard
