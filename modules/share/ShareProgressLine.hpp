#pragma once
/// \file How far a share is, on the terminal.

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/Clock.hpp"
#include "base/LiveLine.hpp"
#include "share/ShareScheduler.hpp"

namespace multicard {

/// On rank 0: a live line, often; where there is none, a line of the log at most once in `interval_s`.
class ShareProgressLine {
 public:
  /// As show() is given them: the tasks, the time, and the seconds until the next round.
  using Listener = std::function<void(const ShareScheduler& scheduler, double now, double left_s)>;
  /// \param listener is called by each show(); may be empty
  explicit ShareProgressLine(double interval_s, Listener listener = {})
      : interval_s_(interval_s), listener_(std::move(listener)) {}

  enum class When { round, between };
  /// \param now of the share \param left_s seconds until the next round
  void show(When when, const ShareScheduler& scheduler, double now, double left_s);
  void erase() { live_.erase(); }

 private:
  double interval_s_;
  Listener listener_;
  LiveLine live_;
  std::optional<TimePoint> shown_;  ///< when progress was shown last
};

/// "vision 2 ranks, 5.1 steps/s, 40 s left | text 1 rank; next decision in 8 s"; in fewer words where that is longer
/// than `columns`.
std::string progress_text(const ShareScheduler& scheduler, double left_s,
                          std::size_t columns = std::numeric_limits<std::size_t>::max());

}  // namespace multicard
