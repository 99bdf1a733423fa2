#include "scheduling/policy/SimplePolicies.hpp"

namespace multicard {

namespace {

std::vector<TaskView> copies_of(const ActiveTasks& tasks) {
  std::vector<TaskView> views;
  views.reserve(tasks.size());
  for (const TaskView* task : tasks)
    views.push_back(*task);
  return views;
}

Decision decision_of(const Layout& layout, const std::vector<TaskView>& tasks, const ActiveTasks& active,
                     const std::vector<int>& ranks, const char* reason) {
  return {place(layout, active, ranks), reason, 0, cost_of_moves(tasks, ranks, layout)};
}

}  // namespace

Decision RequestedPolicy::decide(double /*now*/, const ActiveTasks& tasks) {
  const std::vector<TaskView> views = copies_of(tasks);
  std::vector<int> wanted;
  wanted.reserve(tasks.size());
  for (const TaskView& task : views)
    wanted.push_back(task.requested);
  return decision_of(layout_, views, tasks, given_in_order(views, wanted, layout_.num_gpus), "as the policy says");
}

Decision SequentialPolicy::decide(double /*now*/, const ActiveTasks& tasks) {
  const std::vector<TaskView> views = copies_of(tasks);
  return decision_of(layout_, views, tasks, first_alone(views, layout_.num_gpus), "one task after another");
}

}  // namespace multicard
