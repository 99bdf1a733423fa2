#include "scheduling/policy/RankMoves.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace multicard {
namespace {

using Ranges = std::vector<RankSet>;
using Moves = std::vector<RankMove>;

TEST(RankMoves, TasksThatStayDoNotMove) {
  EXPECT_TRUE(moves_in_turn({{0, 2}, {2, 2}}, {{0, 2}, {2, 2}}).empty());
  EXPECT_TRUE(moves_in_turn({}, {}).empty());
}

TEST(RankMoves, ATaskWaitsForTheRanksOfAnother) {
  // a grows into b's ranks: b has to shrink first.
  EXPECT_EQ(moves_in_turn({{0, 2}, {2, 2}}, {{0, 3}, {3, 1}}), (Moves{{1, {3, 1}}, {0, {0, 3}}}));
  // b stops, a takes its ranks, c begins on those of a.
  EXPECT_EQ(moves_in_turn({{0, 1}, {1, 1}, {}}, {{1, 1}, {}, {0, 1}}), (Moves{{1, {}}, {0, {1, 1}}, {2, {0, 1}}}));
}

TEST(RankMoves, TasksThatChangePlacesGoThroughMemory) {
  EXPECT_EQ(moves_in_turn({{0, 1}, {1, 1}}, {{1, 1}, {0, 1}}), (Moves{{0, {}}, {1, {0, 1}}, {0, {1, 1}}}));
}

/// Ranges that overlap nowhere, some of them empty, in any order.
Ranges random_ranges(std::mt19937& random, int num_tasks) {
  Ranges rank_sets(static_cast<std::size_t>(num_tasks));
  int first = 0;
  for (RankSet& rank_set : rank_sets) {
    const int count = static_cast<int>(random() % 4);
    first += static_cast<int>(random() % 2);
    if (count > 0) rank_set = {first, count};
    first += count;
  }
  std::shuffle(rank_sets.begin(), rank_sets.end(), random);
  return rank_sets;
}

TEST(RankMoves, LeadToTheEndWithoutTwoTasksOnARank) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 500; ++trial) {
    Ranges now = random_ranges(random, 5);
    const Ranges after = random_ranges(random, 5);
    const Moves moves = moves_in_turn(now, after);
    EXPECT_LE(moves.size(), 10U);
    for (const RankMove& move : moves) {
      now[move.task] = move.to;
      for (int rank = 0; rank < 25; ++rank)
        ASSERT_LE(std::ranges::count_if(now, [&](const RankSet& rank_set) { return rank_set.contains(rank); }), 1);
    }
    ASSERT_EQ(now, after);
  }
}

}  // namespace
}  // namespace multicard
