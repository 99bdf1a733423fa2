#include "watch/StatusHistory.hpp"

#include <cmath>

namespace multicard {

void StatusHistory::Sums::add(const Sums& other) {
  last_step = other.last_step;
  num_steps += other.num_steps;
  num_losses += other.num_losses;
  loss += other.loss;
  seconds += other.seconds;
  work += other.work;
}

WatchPoint StatusHistory::Sums::point() const {
  return {last_step, num_losses > 0 ? loss / static_cast<double>(num_losses) : kNone,
          seconds > 0 ? work / seconds : kNone};
}

void StatusHistory::add(std::int64_t completed, double loss, double seconds, double work) {
  const bool is_known = std::isfinite(loss);
  open_.add({completed, 1, is_known ? 1 : 0, is_known ? loss : 0, seconds, work});
  if (open_.num_steps < stride_) return;
  whole_.push_back(open_);
  open_ = {};
  if (whole_.size() < kMost) return;
  for (std::size_t i = 0; i < kMost / 2; ++i) {
    Sums pair = whole_[2 * i];
    pair.add(whole_[2 * i + 1]);
    whole_[i] = pair;
  }
  whole_.resize(kMost / 2);
  stride_ *= 2;
}

std::vector<WatchPoint> StatusHistory::points() const {
  std::vector<WatchPoint> points;
  points.reserve(whole_.size() + 1);
  for (const Sums& sums : whole_)
    points.push_back(sums.point());
  if (open_.num_steps > 0) points.push_back(open_.point());
  return points;
}

}  // namespace multicard
