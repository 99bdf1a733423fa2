#pragma once
/// \file The phases of the steps of a window.

#include <cstdint>
#include <optional>

#include <c10/core/Device.h>

#include "device/StepObserver.hpp"
#include "profiler/RangeLog.hpp"

namespace multicard {

/// CPU seconds of the process at a moment of the wall clock.
struct CoresUsed {
  std::int64_t at = 0;
  double cpu_s = 0;
};

/// Reports the phases of the steps that it observes to `log`, while that is the open one; for a time line also
/// what memory and cores are in use when a phase begins.
class PhaseLog : public StepObserver {
 public:
  PhaseLog(RangeLog& log, at::Device device) : log_(log), device_(device) {}

  void enter(Phase phase) override;
  void pause() override;
  void end_step() override;

 private:
  bool is_open() const { return RangeLog::current() == &log_; }
  void end_phase();
  void report_counters();

  RangeLog& log_;
  at::Device device_;
  LoggedPhase phase_;
  bool has_phase_ = false;
  std::optional<std::int64_t> step_begin_;  ///< of the step that has begun
  std::optional<CoresUsed> cores_;          ///< at the last phase
};

}  // namespace multicard
