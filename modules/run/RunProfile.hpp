#pragma once
/// \file The profile of a run while it trains.

#include <cstdint>
#include <memory>
#include <optional>

#include "base/Clock.hpp"
#include "profiler/ProfileWindows.hpp"
#include "run/RunRecorder.hpp"
#include "run/TraceFile.hpp"

namespace multicard {

/// Opens and closes the profile windows that a deck asks for, and gives what they find to the record. Without
/// profile.enabled it does nothing.
class RunProfile {
 public:
  /// All must outlive it; `clock` is observed.
  RunProfile(const TrainingSetup& setup, StepClock& clock, RunRecorder& recorder);

  /// Says, on rank 0, where no window lies in steps `first_step` to `num_steps`.
  void check(std::int64_t first_step, std::int64_t num_steps) const;
  /// To be called before each step. No step has the time that opening and closing take. Collective, as close() is.
  void move_to(std::int64_t step);
  /// Closes the window that is open, if any: before step `step` come an evaluation or a checkpoint, which must have
  /// what was recorded so far, or the run ends or leaves this rank. move_to() opens it again for the steps that are
  /// left of it.
  void close(std::int64_t step);

 private:
  void open(std::int64_t step);
  /// Ends a part of the open window before its events fill the memory of any rank. Collective.
  void limit_part(std::int64_t step);
  /// With the clock paused. \param change takes the totals of collectives
  template <class Change>
  void between_steps(const Change& change);

  const TrainingSetup& setup_;
  StepClock& clock_;
  RunRecorder& recorder_;
  std::unique_ptr<ProfileWindows> windows_;  ///< null where the deck asks for none
  bool is_open_ = false;                     ///< the same on all ranks, also where a rank could not open its window
  std::int64_t part_first_ = 0;              ///< the first step of the open part of a window
  std::int64_t part_steps_ = 0;              ///< how many it may have
  std::int64_t opened_bytes_ = 0;            ///< resident memory when it opened
  std::optional<TraceFile> trace_;           ///< of the open window, where the deck asks for a time line
};

}  // namespace multicard
