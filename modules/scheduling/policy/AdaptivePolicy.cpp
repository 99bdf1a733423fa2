#include "scheduling/policy/AdaptivePolicy.hpp"

#include <utility>

namespace multicard {

Decision AdaptivePolicy::decide(double /*now*/, const ActiveTasks& tasks) {
  std::vector<TaskView> views;
  views.reserve(tasks.size());
  for (const TaskView* task : tasks)
    views.push_back(*task);
  history_.note(views);
  AdaptiveOptions options = options_;
  options.min_gain = history_.required_gain(options_.min_gain);
  SplitDecision split = decide_adaptively(options, views, layout_);
  return {place(layout_, tasks, split.places()), std::move(split.reason), split.gain, split.cost_s};
}

}  // namespace multicard
