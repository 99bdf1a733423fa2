#include "replay/UtilityCurve.hpp"

#include <cstddef>
#include <queue>

namespace multicard {

namespace {

/// From one corner of a job's hull to the next.
struct Step {
  double slope;
  std::size_t job, next;
  bool operator<(const Step& other) const { return slope < other.slope || (slope == other.slope && job > other.job); }
};

double slope(const Utility& a, const Utility& b) {
  return (b.value - a.value) / (b.gpus - a.gpus);
}

}  // namespace

void UtilityCurve::add(const Utility& utility) {
  if (utility.value <= hull_.back().value) return;
  while (hull_.size() > 1 && slope(hull_[hull_.size() - 2], hull_.back()) <= slope(hull_.back(), utility))
    hull_.pop_back();
  hull_.push_back(utility);
}

std::vector<int> divide_gpus(const std::vector<UtilityCurve>& curves, int num_gpus) {
  std::priority_queue<Step> steps;
  const auto offer = [&](std::size_t job, std::size_t next) {
    const std::vector<Utility>& hull = curves[job].hull();
    if (next < hull.size()) steps.push({slope(hull[next - 1], hull[next]), job, next});
  };
  for (std::size_t job = 0; job < curves.size(); ++job)
    offer(job, 1);
  std::vector<int> counts(curves.size(), 0);
  while (num_gpus > 0 && !steps.empty()) {
    const Step best = steps.top();
    steps.pop();
    const int gpus = curves[best.job].hull()[best.next].gpus;
    if (gpus - counts[best.job] > num_gpus) continue;
    num_gpus -= gpus - counts[best.job];
    counts[best.job] = gpus;
    offer(best.job, best.next + 1);
  }
  return counts;
}

}  // namespace multicard
