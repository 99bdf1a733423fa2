#pragma once
/// \file Time without that in which this process was suspended.

#include <algorithm>

#include "base/Clock.hpp"

namespace multicard {

/// Counts the seconds between looks, of a thread that looks often, but little of a gap in which it could not: a job
/// that Slurm suspends, or Ctrl-Z, must not find all its time limits passed when it continues.
class AwakeClock {
 public:
  static constexpr double kLongestGapS = 1.0;  ///< that counts in full

  /// Seconds since the clock was made, by the last look.
  double now() const { return counted_s_ + std::min(seconds_since(last_look_), kLongestGapS); }
  void look() {
    counted_s_ = now();
    last_look_ = SteadyClock::now();
  }

 private:
  double counted_s_ = 0;
  TimePoint last_look_ = SteadyClock::now();
};

}  // namespace multicard
