#include "scheduling/policy/MeasurementSplit.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace multicard {

namespace {

/// Gives tasks of which nothing is known, and which wait, ranks to be measured on. In their order, so that one that
/// needs many ranks is not overtaken again and again by smaller ones that arrive later.
SplitDecision measure_waiting(const std::vector<TaskView>& tasks, const Layout& layout) {
  SplitDecision decision{present_ranks(tasks), 0, 0, ""};
  int left = layout.num_gpus - sum_of(decision.ranks);
  const auto waits = [](const TaskView& task) { return task.is_unknown() && task.ranks() == 0; };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!waits(tasks[i])) continue;
    // Of a task that was never measured, nothing speaks for more or for less than an equal share.
    const int share = std::max(equal_share(i, tasks.size(), layout.num_gpus), tasks[i].min_ranks);
    const int ranks = usable_within(tasks[i], std::min(share, left));
    if (ranks == 0) break;
    decision.ranks[i] = ranks;
    left -= ranks;
    if (decision.reason.empty()) decision.reason = fmt::format("{} has no measurements yet", tasks[i].name);
  }
  if (!decision.reason.empty()) decision.cost_s = cost_of_moves(tasks, decision.ranks, layout);
  return decision;
}

/// The same at the expense of tasks that are known: what is being measured keeps its ranks, then those that wait get
/// their equal share, then the known ones.
SplitDecision displace(const std::vector<TaskView>& tasks, const std::string& waiting, const Layout& layout) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return tasks[i].is_unknown(); });
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return tasks[i].is_unknown() && tasks[i].ranks() > 0; });
  SplitDecision decision{std::vector<int>(tasks.size()), 0, 0, fmt::format("{} has no measurements yet", waiting)};
  int left = layout.num_gpus;
  bool is_blocked = false;  // a task that is to be measured does not fit, and later ones do not overtake it
  for (std::size_t k = 0; k < order.size(); ++k) {
    const TaskView& task = tasks[order[k]];
    const bool is_measured_now = task.is_unknown() && task.ranks() > 0;
    const int share = std::max(equal_share(k, tasks.size(), layout.num_gpus), task.min_ranks);
    const int ranks = usable_within(task, std::min(is_measured_now ? task.ranks() : share, left));
    is_blocked = is_blocked || (task.is_unknown() && ranks == 0);
    if (ranks == 0 || (is_blocked && task.is_unknown())) continue;
    decision.ranks[order[k]] = ranks;
    left -= ranks;
  }
  decision.cost_s = cost_of_moves(tasks, decision.ranks, layout);
  return decision;
}

/// Ranks that are free, or will be when tasks end within `seconds`.
int free_within(const std::vector<TaskView>& tasks, double seconds, int num_ranks) {
  int free = num_ranks - sum_of(present_ranks(tasks));
  for (const TaskView& task : tasks)
    if (const double rate = rate_on(task, task.ranks()); rate > 0 && task.steps_left / rate <= seconds)
      free += task.ranks();
  return free;
}

}  // namespace

SplitDecision decide_measurement(const std::vector<TaskView>& tasks, const Layout& layout) {
  SplitDecision keep{present_ranks(tasks), 0, 0, ""};
  const auto waiting = std::find_if(tasks.begin(), tasks.end(),
                                    [](const TaskView& task) { return task.is_unknown() && task.ranks() == 0; });
  if (waiting == tasks.end()) return keep;
  if (SplitDecision decision = measure_waiting(tasks, layout); decision.is_change(tasks)) return decision;
  SplitDecision decision = displace(tasks, waiting->name, layout);
  if (decision.ranks[static_cast<std::size_t>(waiting - tasks.begin())] == 0) {
    keep.reason = fmt::format("{} waits until others have been measured", waiting->name);
    return keep;
  }
  if (!decision.is_change(tasks) || free_within(tasks, decision.cost_s, layout.num_gpus) < waiting->min_ranks)
    return decision;
  keep.cost_s = decision.cost_s;
  keep.reason = fmt::format("{} waits for a task that ends before the moves would be done", waiting->name);
  return keep;
}

}  // namespace multicard
