#include "scheduling/policy/RankMoves.hpp"

#include <algorithm>

namespace multicard {

namespace {

bool overlap(const RankRange& a, const RankRange& b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

bool is_free(const RankRange& range, const std::vector<RankRange>& taken, std::size_t task) {
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (i != task && taken[i].count > 0 && range.count > 0 && overlap(range, taken[i])) return false;
  return true;
}

}  // namespace

std::vector<RankMove> moves_in_turn(std::vector<RankRange> before, const std::vector<RankRange>& after) {
  std::vector<RankMove> moves;
  const auto move = [&](std::size_t task, const RankRange& to) {
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
      move(*std::ranges::find_if(open, [&](std::size_t task) { return before[task].count > 0; }), {});
    }
  }
  return moves;
}

}  // namespace multicard
