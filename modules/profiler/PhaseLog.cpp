#include "profiler/PhaseLog.hpp"

namespace multicard {

void PhaseLog::enter(Phase phase) {
  end_phase();
  if (!is_open()) return;
  phase_ = {phase, wall_clock_ns(), 0};
  has_phase_ = true;
}

void PhaseLog::end_phase() {
  if (!has_phase_) return;
  phase_.end = wall_clock_ns();
  if (is_open()) log_.add(phase_);
  has_phase_ = false;
}

}  // namespace multicard
