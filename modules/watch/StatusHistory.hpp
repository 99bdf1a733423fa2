#pragma once
/// \file The curves of a run in a fixed number of points, however long it trains.

#include <cstddef>
#include <vector>

#include "watch/WatchStatus.hpp"

namespace multicard {

/// Steps are averaged into points. When there are kMost points, each two neighbours become one, and later points are
/// of twice as many steps.
class StatusHistory {
 public:
  static constexpr std::size_t kMost = 160;

  /// A step has ended. \param completed steps of the whole run \param loss NaN where it is not known
  void add(std::int64_t completed, double loss, double seconds, double work);
  /// The last point is of the steps since the one before.
  std::vector<WatchPoint> points() const;

 private:
  /// Sums over the steps of a point.
  struct Sums {
    std::int64_t last_step = 0, num_steps = 0, num_losses = 0;
    double loss = 0, seconds = 0, work = 0;

    void add(const Sums& other);
    WatchPoint point() const;
  };

  std::vector<Sums> whole_;
  Sums open_;
  std::int64_t stride_ = 1;  ///< steps of a point
};

}  // namespace multicard
