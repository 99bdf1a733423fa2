#pragma once
/// \file Host time.

#include <chrono>
#include <string>

namespace multicard {

using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;

inline double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}
inline double seconds_since(TimePoint from) {
  return seconds_between(from, SteadyClock::now());
}

/// Seconds since this process was started by the operating system (so that start-up before main counts).
double seconds_since_launch();

/// Now, as 2026-03-19T12:00:00Z.
std::string utc_now();

}  // namespace multicard
