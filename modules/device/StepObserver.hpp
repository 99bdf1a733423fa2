#pragma once
/// \file Who is told what a step does.

#include <cstdint>
#include <functional>
#include <memory>

#include "base/Measures.hpp"

namespace multicard {

/// Follows the steps of a StepClock, on the thread that trains, when the host comes to them: a GPU may still compute
/// earlier ones. Calls must be cheap, because they are part of the step.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// What follows belongs to this phase of a step: of one that begins, or that resumes after pause(), or of the same.
  virtual void enter(Phase phase) = 0;
  /// The step has ended; what follows belongs to the next one, whose phase is entered at once.
  virtual void end_step() {}
  /// What follows belongs to no step, until a phase is entered.
  virtual void pause() = 0;

 protected:
  StepObserver() = default;
  StepObserver(const StepObserver&) = default;
  StepObserver& operator=(const StepObserver&) = default;
};

/// Shows a GPU's steps ("step 7") and, within them, their phases as NVTX ranges, which Nsight Systems displays; a call
/// costs nanoseconds where no profiler listens. Null in a build without CUDA. \param first_step is asked for the number
/// of the first step when that begins
std::unique_ptr<StepObserver> make_phase_ranges(std::function<std::int64_t()> first_step);

}  // namespace multicard
