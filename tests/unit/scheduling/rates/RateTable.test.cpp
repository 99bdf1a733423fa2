#include "scheduling/rates/RateTable.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(RateTable, LeavesOutWhatTheMachineDoesNotAllow) {
  const RateTable table({{4, 0, 3.0, 10}, {1, 0, 1.0, 30}, {2, 0, 0.0, 0}, {8, 0, 5.0, 0}, {4, 0, 2.0, 40}});

  EXPECT_EQ(table.usable({1, 4, 80}), (std::vector<Choice>{{1, 0, 1.0}, {4, 0, 3.0}}));
  EXPECT_EQ(table.usable({1, 8, 20}), (std::vector<Choice>{{4, 0, 3.0}, {8, 0, 5.0}}));
  EXPECT_EQ(table.best({1, 8, 20}), (Choice{8, 0, 5.0}));
  EXPECT_EQ(table.best({1, 1, 20}), Choice{});
}

TEST(RateTable, KeepsTheFastestOfRowsWithEqualNumbers) {
  const RateTable table({{2, 0, 3.0, 10}, {2, 0, 4.0, 50}, {2, 1, 5.0, 0}, {2, 0, 2.0, 0}});

  EXPECT_EQ(table.usable({1, 2, 80}), (std::vector<Choice>{{2, 0, 4.0}, {2, 1, 5.0}}));
  EXPECT_EQ(table.usable({1, 2, 40}), (std::vector<Choice>{{2, 0, 3.0}, {2, 1, 5.0}}));
}

TEST(RateTable, HoldsForExactlySoManyNodes) {
  const RateTable table({{4, 1, 4.0, 0}, {4, 2, 3.0, 0}, {4, 4, 2.0, 0}, {6, 1, 7.0, 0}, {2, 3, 1.0, 0}});

  EXPECT_EQ(table.usable({2, 4}), (std::vector<Choice>{{4, 1, 4.0}, {4, 2, 3.0}}));
  EXPECT_EQ(table.usable({4, 2}), (std::vector<Choice>{{4, 2, 3.0}, {4, 4, 2.0}}));
}

}  // namespace
}  // namespace multicard
