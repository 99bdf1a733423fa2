#pragma once
/// \file The phases of the steps of a window.

#include <cstdint>

#include "device/StepObserver.hpp"
#include "profiler/RangeLog.hpp"

namespace multicard {

/// Reports the phases of the steps that it observes to `log`, while that is the open one.
class PhaseLog : public StepObserver {
 public:
  explicit PhaseLog(RangeLog& log) : log_(log) {}

  void enter(Phase phase) override;
  void pause() override { end_phase(); }
  void end_step() override { end_phase(); }

 private:
  bool is_open() const { return RangeLog::current() == &log_; }
  void end_phase();

  RangeLog& log_;
  LoggedPhase phase_;
  bool has_phase_ = false;
};

}  // namespace multicard
