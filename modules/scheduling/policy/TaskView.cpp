#include "scheduling/policy/TaskView.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace multicard {

int usable_within(const TaskView& task, int ranks) {
  const int most = std::min(ranks, task.max_ranks);
  if (most < task.min_ranks) return 0;
  if (task.usable_ranks.empty()) return most;
  const auto after = std::upper_bound(task.usable_ranks.begin(), task.usable_ranks.end(), most);
  return after == task.usable_ranks.begin() ? 0 : *(after - 1);
}

double rate_on(const TaskView& task, const RanksOnNodes& at) {
  double best = 0;
  for (const RateRow& row : task.rates.rows())
    if (row.gpus == at.ranks && (row.nodes == at.nodes || row.nodes == 0 || at.nodes == 0))
      best = std::max(best, row.rate);
  return best;
}

double first_end(const std::vector<TaskView>& tasks, const std::vector<RanksOnNodes>& places) {
  double seconds = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (const double rate = rate_on(tasks[i], places[i]); rate > 0)
      seconds = std::min(seconds, tasks[i].steps_left / rate);
  return seconds;
}

std::vector<int> present_ranks(const std::vector<TaskView>& tasks) {
  std::vector<int> ranks;
  ranks.reserve(tasks.size());
  for (const TaskView& task : tasks)
    ranks.push_back(task.ranks());
  return ranks;
}

std::vector<RanksOnNodes> present_places(const std::vector<TaskView>& tasks, const Layout& layout) {
  std::vector<RanksOnNodes> places;
  places.reserve(tasks.size());
  for (const TaskView& task : tasks)
    places.emplace_back(task.ranks(), layout.has_several_nodes() ? task.nodes() : 0);
  return places;
}

int number_served(const std::vector<int>& ranks) {
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(), [](int count) { return count > 0; }));
}

int sum_of(const std::vector<int>& ranks) {
  return std::accumulate(ranks.begin(), ranks.end(), 0);
}

std::vector<int> given_in_order(const std::vector<TaskView>& tasks, const std::vector<int>& wanted, int num_ranks) {
  std::vector<int> ranks(tasks.size());
  int left = num_ranks;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    ranks[i] = usable_within(tasks[i], std::min(wanted[i], left));
    left -= ranks[i];
  }
  return ranks;
}

// The first tasks get one rank more each where the division leaves a rest. With more tasks than ranks each share is one
// rank, and the later tasks find none left.
int equal_share(std::size_t index, std::size_t number, int num_ranks) {
  const int tasks = std::clamp(static_cast<int>(number), 1, num_ranks);
  return num_ranks / tasks + (static_cast<int>(index) < num_ranks % tasks ? 1 : 0);
}

std::vector<int> equal_ranks(const std::vector<TaskView>& tasks, int num_ranks) {
  std::vector<int> wanted(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i)
    wanted[i] = std::max(equal_share(i, tasks.size(), num_ranks), tasks[i].min_ranks);
  return given_in_order(tasks, wanted, num_ranks);
}

std::vector<int> first_alone(const std::vector<TaskView>& tasks, int num_ranks) {
  std::vector<int> wanted(tasks.size());
  wanted.front() = num_ranks;
  return given_in_order(tasks, wanted, num_ranks);
}

double cost_of_moves(const std::vector<TaskView>& tasks, const std::vector<RanksOnNodes>& places,
                     const Layout& layout) {
  std::vector<Placement> before;
  before.reserve(tasks.size());
  for (const TaskView& task : tasks)
    before.push_back(task.placement);
  if (std::all_of(before.begin(), before.end(), [](const Placement& placement) { return placement.empty(); })) return 0;
  const std::vector<Placement> after = place(layout, before, places);
  double moves = 0, saving = 0;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (after[i] == before[i]) continue;
    moves += tasks[i].move_s;
    // Saved before the moves, all at the same time, so that the longest counts.
    if (tasks[i].ranks() > 0 && !tasks[i].proven_on.contains(places[i].ranks))
      saving = std::max(saving, tasks[i].save_s);
  }
  // In turn, every task waits for all moves; at once, each for its own, of which the mean over the tasks counts.
  return layout.moves == MoveOrder::in_turn ? saving + moves : moves / static_cast<double>(tasks.size());
}

double cost_of_moves(const std::vector<TaskView>& tasks, const std::vector<int>& ranks, const Layout& layout) {
  return cost_of_moves(tasks, std::vector<RanksOnNodes>(ranks.begin(), ranks.end()), layout);
}

}  // namespace multicard
