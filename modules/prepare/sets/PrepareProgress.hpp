#pragma once
/// \file How far preparing is.

#include <cstdint>
#include <string>

#include "base/Clock.hpp"
#include "base/LiveLine.hpp"
#include "comm/Communicator.hpp"

namespace multicard {

enum class Loudness { normal, quiet };

/// Percent and rate on standard error, from rank 0, which takes itself for an average rank. On a terminal one line that
/// is written over every second, else a line every five seconds. See LiveLine for what decides.
class PrepareProgress {
 public:
  /// `what` is done to `total` things called `unit`: "writing", 60000, "images".
  PrepareProgress(std::string what, std::int64_t total, std::string unit, const Communicator& communicator,
                  Loudness loudness);
  ~PrepareProgress();
  PrepareProgress(const PrepareProgress&) = delete;
  PrepareProgress& operator=(const PrepareProgress&) = delete;

  /// This rank has done one more.
  void advance();

 private:
  void show();

  std::string what_, unit_;
  std::int64_t total_, num_ranks_;
  LiveLine line_;
  bool speaks_, is_live_;
  std::int64_t done_ = 0;
  TimePoint start_ = SteadyClock::now(), shown_ = start_;
};

}  // namespace multicard
