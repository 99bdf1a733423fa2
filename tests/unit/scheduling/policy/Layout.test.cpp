#include "scheduling/policy/Layout.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(RankLayout, PutsTasksSideBySide) {
  EXPECT_EQ(lay_out({2, 0, 3}, {{}, {}, {}}, 6), (std::vector<RankSet>{{3, 2}, {}, {0, 3}})) << "the largest first";
}

TEST(RankLayout, LeavesWhereItIsWhatKeepsItsCount) {
  EXPECT_EQ(lay_out({2, 1, 1}, {{0, 1}, {3, 1}, {2, 1}}, 4), (std::vector<RankSet>{{0, 2}, {3, 1}, {2, 1}}));
  EXPECT_EQ(lay_out({0, 1}, {{0, 3}, {3, 1}}, 4), (std::vector<RankSet>{{}, {3, 1}}));
}

TEST(RankLayout, ChoosesTheGapNearestToWhereATaskWas) {
  EXPECT_EQ(lay_out({1, 2}, {{0, 2}, {2, 2}}, 4), (std::vector<RankSet>{{0, 1}, {2, 2}}));
  EXPECT_EQ(lay_out({1, 2}, {{6, 2}, {2, 2}}, 8), (std::vector<RankSet>{{6, 1}, {2, 2}}));
}

TEST(RankLayout, TakesRanksApartWhereTheGapsAreTooSmall) {
  EXPECT_EQ(lay_out({1, 1, 2}, {{0, 1}, {2, 1}, {}}, 4),
            (std::vector<RankSet>{{0, 1}, {2, 1}, RankSet(std::vector<int>{1, 3})}))
      << "the others stay";
  EXPECT_EQ(lay_out({1, 3}, {{1, 1}, {2, 2}}, 4), (std::vector<RankSet>{{1, 1}, RankSet({0, 2, 3})})) << "and its own";
}

TEST(RankLayout, RefusesMoreThanThereIs) {
  EXPECT_THROW(lay_out({2, 3}, {{}, {}}, 4), std::logic_error);
}

TEST(RankSet, SaysWhichRanksItHas) {
  const RankSet ranks({5, 0, 2, 1});
  EXPECT_EQ(ranks.text(), "0-2, 5");
  EXPECT_EQ(ranks.first(), 0);
  EXPECT_TRUE(ranks.contains(5) && !ranks.contains(3));
  EXPECT_TRUE(ranks.overlaps({5, 3}) && !ranks.overlaps({3, 2}));
  EXPECT_EQ(RankSet(3, 1).text(), "3");
  EXPECT_EQ(RankSet().text(), "");
  const std::vector<RankSet> sets{ranks, {}, {3, 1}};
  EXPECT_EQ(owners_of(sets, 6), (std::vector<int>{0, 0, 0, 2, -1, 0}));
  EXPECT_EQ(sets_of(owners_of(sets, 6), 3), sets);
}

TEST(Layout, KnowsTheNodesOfRanksThatAreNumberedAnyhow) {
  const Layout layout = Layout::of_nodes({0, 1, 0, 1, 1});
  EXPECT_EQ(layout.machine.nodes, 2);
  EXPECT_EQ(layout.machine.gpus_per_node, 3);
  EXPECT_EQ(layout.machine.gpus(), 5);
  EXPECT_EQ(layout.placement_of(RankSet(std::vector<int>{1, 4})), (Placement{{1, 1, 0}, {1, 1, 2}}));
  for (const RankSet& ranks :
       {RankSet({0, 1, 3}), RankSet(std::vector<int>{2, 4}), RankSet(std::vector<int>{1, 4}), RankSet()})
    EXPECT_EQ(layout.ranks_of(layout.placement_of(ranks)), ranks);
  EXPECT_EQ(node_counts(layout.placement_of(RankSet({0, 1, 3}))), (NodeCounts{2, 1}));
}

TEST(Layout, PutsTasksOnWholeNodesWhateverTheNumbersOfTheirRanks) {
  Layout layout = Layout::of_nodes({0, 1, 0, 1});
  const std::vector<Placement> none(2);
  const std::vector<Placement> packed = place(layout, none, std::vector<int>{2, 2});
  EXPECT_EQ(layout.ranks_of(packed[0]), RankSet(std::vector<int>{0, 2}));
  EXPECT_EQ(layout.ranks_of(packed[1]), RankSet(std::vector<int>{1, 3}));
  layout.spread = Spread::spread;
  const std::vector<Placement> spread = place(layout, none, std::vector<int>{2, 2});
  EXPECT_EQ(node_counts(spread[0]), (NodeCounts{1, 1}));
  EXPECT_EQ(node_counts(spread[1]), (NodeCounts{1, 1}));
}

TEST(NodeCounts, AreTheSameForPlacementsThatDifferInNamesOfNodes) {
  EXPECT_EQ(node_counts({{0, 1}, {1, 2}}), node_counts({{3, 2}, {5, 1}}));
  EXPECT_EQ(normalised_counts({1, 0, 2}), (NodeCounts{2, 1}));
  EXPECT_EQ(counts_text({2, 1}), "2+1");
  EXPECT_EQ(counts_from("2+1"), (NodeCounts{2, 1}));
  for (const char* text : {"", "2+", "+2", "a", "2+0", "2 + 1"})
    EXPECT_EQ(counts_from(text), NodeCounts()) << text;
  EXPECT_EQ(even_counts({2, 4}, 6, 2), (NodeCounts{3, 3}));
  EXPECT_EQ(even_counts({3, 4, 80, {1, 4, 3}}, 6, 3), (NodeCounts{3, 2, 1}));
  EXPECT_EQ(even_counts({2, 4}, 9, 2), NodeCounts());
}

}  // namespace
}  // namespace multicard
