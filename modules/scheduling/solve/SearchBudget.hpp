#pragma once
/// \file How much the search for an allocation may do.

#include <cstdint>

#include "base/Clock.hpp"

namespace multicard {

/// Why a search ended.
enum class SearchEnd {
  complete,    ///< nothing was left to try
  work_limit,  ///< it did as much as it may: equal problems end like this with equal results on any machine
  time_limit   ///< it took too long, on a slow or busy machine: another call may find something better
};

/// Limits of a search, which all its parts share. Work is counted in operations of about a nanosecond, so that the
/// result does not depend on the machine or its load; the limit of time is for machines that are much slower.
class SearchBudget {
 public:
  static constexpr std::int64_t kMostOperations = 1'500'000'000;
  static constexpr double kMostSeconds = 5;

  explicit SearchBudget(std::int64_t operations = kMostOperations, double seconds = kMostSeconds)
      : left_(operations), seconds_(seconds), start_(SteadyClock::now()) {}

  /// Takes what is about to be done; false, from then on, when nothing is left: then the best so far is the answer.
  bool take(std::int64_t operations);
  /// Notes that a part of the search reached a limit of its own.
  void reach_limit();

  bool is_spent() const { return left_ <= 0 || end_ == SearchEnd::time_limit; }
  SearchEnd end() const { return end_; }
  std::int64_t operations_left() const { return left_; }
  double seconds_left() const { return seconds_ - seconds_since(start_); }

 private:
  std::int64_t left_;
  std::int64_t until_clock_ = 0;  ///< operations until the clock is read again
  double seconds_;
  TimePoint start_;
  SearchEnd end_ = SearchEnd::complete;
};

}  // namespace multicard
