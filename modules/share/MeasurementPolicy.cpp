#include "share/MeasurementPolicy.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace multicard {

namespace {

/// Gives tasks of which nothing is known, and which wait, ranks to be measured on. In their order, so that one that
/// needs many ranks is not overtaken again and again by smaller ones that arrive later.
ShareDecision measure_waiting(const std::vector<TaskView>& tasks, int num_ranks) {
  ShareDecision decision{present_ranks(tasks), 0, 0, ""};
  int left = num_ranks - sum_of(decision.ranks);
  const auto waits = [](const TaskView& task) { return task.is_unknown() && task.ranks == 0; };
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!waits(tasks[i])) continue;
    const int share = std::max(equal_share(i, tasks.size(), num_ranks), tasks[i].min_ranks);
    const int ranks = std::min({share, tasks[i].max_ranks, left});
    if (ranks < tasks[i].min_ranks) break;
    decision.ranks[i] = ranks;
    left -= ranks;
    if (decision.reason.empty()) decision.reason = fmt::format("{} is to be measured", tasks[i].name);
  }
  if (!decision.reason.empty()) decision.cost_s = cost_of_moves(tasks, decision.ranks, num_ranks);
  return decision;
}

/// The same at the expense of tasks that are known: what is being measured keeps its ranks, then those that wait get
/// their equal share, then the known ones.
ShareDecision displace(const std::vector<TaskView>& tasks, const std::string& waiting, int num_ranks) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return tasks[i].is_unknown(); });
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return tasks[i].is_unknown() && tasks[i].ranks > 0; });
  ShareDecision decision{std::vector<int>(tasks.size()), 0, 0, fmt::format("{} is to be measured", waiting)};
  int left = num_ranks;
  bool is_blocked = false;  // a task that is to be measured does not fit, and later ones do not overtake it
  for (std::size_t k = 0; k < order.size(); ++k) {
    const TaskView& task = tasks[order[k]];
    const bool is_measured_now = task.is_unknown() && task.ranks > 0;
    const int share = std::max(equal_share(k, tasks.size(), num_ranks), task.min_ranks);
    const int ranks = std::min({is_measured_now ? task.ranks : share, task.max_ranks, left});
    is_blocked = is_blocked || (task.is_unknown() && ranks < task.min_ranks);
    if (ranks < task.min_ranks || (is_blocked && task.is_unknown())) continue;
    decision.ranks[order[k]] = ranks;
    left -= ranks;
  }
  decision.cost_s = cost_of_moves(tasks, decision.ranks, num_ranks);
  return decision;
}

/// Ranks that are free, or will be when tasks end within `seconds`.
int free_within(const std::vector<TaskView>& tasks, double seconds, int num_ranks) {
  int free = num_ranks - sum_of(present_ranks(tasks));
  for (const TaskView& task : tasks)
    if (const double rate = rate_on(task, task.ranks); rate > 0 && task.steps_left / rate <= seconds)
      free += task.ranks;
  return free;
}

}  // namespace

ShareDecision decide_measurement(const std::vector<TaskView>& tasks, int num_ranks) {
  ShareDecision keep{present_ranks(tasks), 0, 0, ""};
  const auto waiting = std::find_if(tasks.begin(), tasks.end(),
                                    [](const TaskView& task) { return task.is_unknown() && task.ranks == 0; });
  if (waiting == tasks.end()) return keep;
  if (ShareDecision decision = measure_waiting(tasks, num_ranks); decision.is_change(tasks)) return decision;
  ShareDecision decision = displace(tasks, waiting->name, num_ranks);
  if (decision.ranks[static_cast<std::size_t>(waiting - tasks.begin())] == 0) {
    keep.reason = fmt::format("{} waits until others have been measured", waiting->name);
    return keep;
  }
  if (!decision.is_change(tasks) || free_within(tasks, decision.cost_s, num_ranks) < waiting->min_ranks)
    return decision;
  keep.cost_s = decision.cost_s;
  keep.reason = fmt::format("{} waits for a task that ends before the moves would be done", waiting->name);
  return keep;
}

}  // namespace multicard
