#include "scheduling/policy/SchedulingPolicy.hpp"

#include <algorithm>
#include <numeric>

namespace multicard {

std::vector<Placement> place(const Layout& layout, const ActiveTasks& tasks, const std::vector<RanksOnNodes>& counts) {
  std::vector<Placement> before;
  before.reserve(tasks.size());
  for (const TaskView* task : tasks)
    before.push_back(task->placement);
  return place(layout, before, counts);
}

std::vector<Placement> place(const Layout& layout, const ActiveTasks& tasks, const std::vector<int>& counts) {
  return place(layout, tasks, std::vector<RanksOnNodes>(counts.begin(), counts.end()));
}

std::vector<std::size_t> least_served_first(const ActiveTasks& tasks) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tasks[a]->attained_service < tasks[b]->attained_service;
  });
  return order;
}

}  // namespace multicard
