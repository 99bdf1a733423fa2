#include "scheduling/policy/Layout.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(RankLayout, PutsTasksSideBySide) {
  EXPECT_EQ(lay_out({2, 0, 3}, {{}, {}, {}}, 6), (std::vector<RankRange>{{3, 2}, {}, {0, 3}})) << "the largest first";
}

TEST(RankLayout, LeavesWhereItIsWhatKeepsItsCount) {
  EXPECT_EQ(lay_out({2, 1, 1}, {{0, 1}, {3, 1}, {2, 1}}, 4), (std::vector<RankRange>{{0, 2}, {3, 1}, {2, 1}}));
  EXPECT_EQ(lay_out({0, 1}, {{0, 3}, {3, 1}}, 4), (std::vector<RankRange>{{}, {3, 1}}));
}

TEST(RankLayout, ChoosesTheGapNearestToWhereATaskWas) {
  EXPECT_EQ(lay_out({1, 2}, {{0, 2}, {2, 2}}, 4), (std::vector<RankRange>{{0, 1}, {2, 2}}));
  EXPECT_EQ(lay_out({1, 2}, {{6, 2}, {2, 2}}, 8), (std::vector<RankRange>{{6, 1}, {2, 2}}));
}

TEST(RankLayout, MovesAllWhereTheGapsAreTooSmall) {
  EXPECT_EQ(lay_out({1, 1, 2}, {{0, 1}, {2, 1}, {}}, 4), (std::vector<RankRange>{{0, 1}, {1, 1}, {2, 2}}));
}

TEST(RankLayout, RefusesMoreThanThereIs) {
  EXPECT_THROW(lay_out({2, 3}, {{}, {}}, 4), std::logic_error);
}

}  // namespace
}  // namespace multicard
