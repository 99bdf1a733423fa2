#include "profiler/PhaseLog.hpp"

#include "base/ProcessUse.hpp"
#include "device/HostTensors.hpp"
#include "device/Memory.hpp"

namespace multicard {

void PhaseLog::enter(Phase phase) {
  end_phase();
  if (!is_open()) {
    cores_.reset();
    return;
  }
  phase_ = {phase, wall_clock_ns(), 0};
  has_phase_ = true;
  if (!step_begin_) step_begin_ = phase_.begin;
  if (RangeLog::takes_reports()) report_counters();
}

void PhaseLog::end_step() {
  end_phase();
  if (step_begin_ && is_open()) log_.add_step({*step_begin_, wall_clock_ns()});
  step_begin_.reset();
}

/// Between two steps: the next one begins when a phase is entered again.
void PhaseLog::pause() {
  end_phase();
  step_begin_.reset();
}

void PhaseLog::end_phase() {
  if (!has_phase_) return;
  phase_.end = wall_clock_ns();
  if (is_open()) log_.add(phase_);
  has_phase_ = false;
}

// Cheap ones: this is part of the step. Both memories are counters; CPU time is one call of the system.
void PhaseLog::report_counters() {
  const std::int64_t at = phase_.begin;
  RangeLog::report(CounterValue{at, "host tensors", "bytes", static_cast<double>(host_tensor_memory().allocated)});
  if (device_.is_cuda())
    RangeLog::report(CounterValue{at, "GPU memory", "bytes", static_cast<double>(device_memory(device_).allocated)});
  const CoresUsed now{at, process_cpu_seconds()};
  if (cores_ && at > cores_->at)
    RangeLog::report(CounterValue{cores_->at, "cores", "busy",
                                  1e9 * (now.cpu_s - cores_->cpu_s) / static_cast<double>(at - cores_->at)});
  cores_ = now;
}

}  // namespace multicard
