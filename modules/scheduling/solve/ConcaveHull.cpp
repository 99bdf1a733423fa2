#include "scheduling/solve/ConcaveHull.hpp"

#include <cstddef>
#include <queue>

namespace multicard {

namespace {

/// From one corner of a task's hull to the next.
struct Step {
  double slope;
  std::size_t task, next;
  bool operator<(const Step& other) const { return slope < other.slope || (slope == other.slope && task > other.task); }
};

}  // namespace

void ConcaveHull::add(const Utility& utility) {
  if (utility.value <= corners_.back().value) return;
  // A corner that the line from the one before it to the new one passes above is not of the hull.
  while (corners_.size() > 1 &&
         slope(corners_[corners_.size() - 2], corners_.back()) <= slope(corners_.back(), utility))
    corners_.pop_back();
  corners_.push_back(utility);
}

// Steps in the order of their slopes are the optimum of concave curves, as long as they fit. One that does not ends its
// own task; smaller steps of others may still fit.
std::vector<int> divide_gpus(const std::vector<ConcaveHull>& hulls, int num_gpus) {
  std::priority_queue<Step> steps;
  const auto offer = [&](std::size_t task, std::size_t next) {
    const std::vector<Utility>& corners = hulls[task].corners();
    if (next < corners.size()) steps.push({slope(corners[next - 1], corners[next]), task, next});
  };
  for (std::size_t task = 0; task < hulls.size(); ++task)
    offer(task, 1);
  std::vector<int> counts(hulls.size(), 0);
  while (num_gpus > 0 && !steps.empty()) {
    const Step best = steps.top();
    steps.pop();
    const int gpus = hulls[best.task].corners()[best.next].gpus;
    if (gpus - counts[best.task] > num_gpus) continue;
    num_gpus -= gpus - counts[best.task];
    counts[best.task] = gpus;
    offer(best.task, best.next + 1);
  }
  return counts;
}

}  // namespace multicard
