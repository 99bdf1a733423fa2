#pragma once
/// \file Estimates and shares as text.

#include <string>

#include "postproc/reduce/Statistics.hpp"

namespace multicard::post {

/// `value` with as many decimals as give `reference` this many significant digits, so that a number and its interval
/// have the same precision: 421.0 and 413.4.
std::string alike(double value, double reference, int digits);

/// "413.4 (408.5–421.0)", the value alone without an interval, "–" when unknown.
std::string with_interval(const Estimate& estimate, int digits = 4);

/// Whether an interval says nothing: its upper end is a hundred times the lower, and it is not of a share
/// (Basis::none), of which an end at 0 says something.
bool is_too_wide(const Estimate& estimate);

/// Whether a ratio with an interval shows no difference: the interval contains 1, or is too wide.
bool shows_no_difference(const Estimate& ratio);

/// "408.5–421.0"; "too wide to tell" of what is_too_wide().
std::string range_text(const Estimate& estimate, int digits = 4);

/// A ratio of two rates in words: of the times where it is below 1, since few read "0.445 times as fast" at a glance.
struct SpeedText {
  bool is_slower;
  std::string times;  ///< "1.80 times as fast", or "2.25 times as long"
  std::string range;  ///< of these times; empty without an interval
  Estimate shown;     ///< the ratio of which `times` and `range` are
};
SpeedText speed_text(const Estimate& ratio);

}  // namespace multicard::post
