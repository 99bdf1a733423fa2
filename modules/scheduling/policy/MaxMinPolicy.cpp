#include "scheduling/policy/MaxMinPolicy.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace multicard {

const std::vector<MaxMinPolicy::Level>& MaxMinPolicy::levels(const TaskView& task) {
  std::vector<Level>& levels = levels_[task.model];
  if (!levels.empty()) return levels;
  for (const int gpus : usable_counts(*task.model, cluster_)) {
    const double speed = 1 / task.model->remaining_seconds(gpus, 0, 0);
    // More GPUs that are slower serve no purpose, and shares must rise from level to level.
    if (levels.empty() || speed > levels.back().share) levels.push_back({gpus, speed});
  }
  for (Level& level : levels)
    level.share /= levels.back().share;
  return levels;
}

// Water-filling: the job with the least share of its best speed gets its next level, until no level fits. Of equal
// shares, the job that was served least comes first.
Decision MaxMinPolicy::decide(double /*now*/, const ActiveTasks& tasks) {
  const std::vector<std::size_t> order = least_served_first(tasks);
  // Share of the best speed, place in the order, level that comes next.
  using Step = std::tuple<double, std::size_t, std::size_t>;
  std::priority_queue<Step, std::vector<Step>, std::greater<>> steps;
  for (std::size_t place = 0; place < order.size(); ++place)
    if (!levels(*tasks[order[place]]).empty()) steps.push({0, place, 0});

  std::vector<int> counts(tasks.size(), 0);
  int left = cluster_.gpus();
  while (left > 0 && !steps.empty()) {
    const auto [share, place, next] = steps.top();
    steps.pop();
    const std::size_t task = order[place];
    const std::vector<Level>& all = levels(*tasks[task]);
    if (all[next].gpus - counts[task] > left) continue;
    left -= all[next].gpus - counts[task];
    counts[task] = all[next].gpus;
    if (next + 1 < all.size()) steps.push({all[next].share, place, next + 1});
  }
  return {place(Layout::of_cluster(cluster_), tasks, counts), "the largest least share of the best speed"};
}

}  // namespace multicard
