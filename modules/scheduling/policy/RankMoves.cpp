#include "scheduling/policy/RankMoves.hpp"

#include <algorithm>

namespace multicard {

namespace {

bool is_free(const RankSet& ranks, const std::vector<RankSet>& taken, std::size_t task) {
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (i != task && taken[i].overlaps(ranks)) return false;
  return true;
}

}  // namespace

std::vector<RankMove> moves_in_turn(std::vector<RankSet> before, const std::vector<RankSet>& after) {
  std::vector<RankMove> moves;
  const auto move = [&](std::size_t task, const RankSet& to) {
    moves.push_back({task, to});
    before[task] = to;
  };
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < after.size(); ++i)
    if (before[i] != after[i]) open.push_back(i);
  // In a cycle of tasks that wait for each other's ranks, one gives up its own and waits without any. As a task does so
  // at most once, this ends.
  while (!open.empty()) {
    const auto next = std::ranges::find_if(open, [&](std::size_t task) { return is_free(after[task], before, task); });
    if (next != open.end()) {
      move(*next, after[*next]);
      open.erase(next);
    } else {  // each waits for ranks of another: one of them has ranks
      move(*std::ranges::find_if(open, [&](std::size_t task) { return !before[task].empty(); }), {});
    }
  }
  return moves;
}

}  // namespace multicard
