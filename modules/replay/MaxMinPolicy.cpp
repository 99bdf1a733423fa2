#include "replay/MaxMinPolicy.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace multicard {

const std::vector<MaxMinPolicy::Level>& MaxMinPolicy::levels(const ReplayJob& job) {
  std::vector<Level>& levels = levels_[&job.model()];
  if (!levels.empty()) return levels;
  for (const int gpus : usable_counts(job.model(), cluster_)) {
    const double speed = 1 / job.model().remaining_seconds(gpus, 0, 0);
    if (levels.empty() || speed > levels.back().share) levels.push_back({gpus, speed});
  }
  for (Level& level : levels)
    level.share /= levels.back().share;
  return levels;
}

std::vector<JobGpus> MaxMinPolicy::decide(double /*now*/, const ActiveJobs& jobs) {
  const std::vector<std::size_t> order = least_served_first(jobs);
  // Share of the best speed, place in the order, level that comes next.
  using Step = std::tuple<double, std::size_t, std::size_t>;
  std::priority_queue<Step, std::vector<Step>, std::greater<>> steps;
  for (std::size_t place = 0; place < order.size(); ++place)
    if (!levels(*jobs[order[place]]).empty()) steps.push({0, place, 0});

  std::vector<int> counts(jobs.size(), 0);
  int left = cluster_.num_gpus();
  while (left > 0 && !steps.empty()) {
    const auto [share, place, next] = steps.top();
    steps.pop();
    const std::size_t job = order[place];
    const std::vector<Level>& all = levels(*jobs[job]);
    if (all[next].gpus - counts[job] > left) continue;
    left -= all[next].gpus - counts[job];
    counts[job] = all[next].gpus;
    if (next + 1 < all.size()) steps.push({all[next].share, place, next + 1});
  }
  return place_largest_first(cluster_, jobs, counts);
}

}  // namespace multicard
