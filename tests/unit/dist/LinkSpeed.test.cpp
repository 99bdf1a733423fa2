#include "dist/LinkSpeed.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

void expect_sensible(const AllReduceTime& time) {
  EXPECT_GT(time.low_s, 0);
  EXPECT_LE(time.low_s, time.median_s);
  EXPECT_LE(time.median_s, time.high_s);
  EXPECT_LT(time.high_s, 60);
  EXPECT_GE(time.num_rounds, 9);
  EXPECT_LE(time.num_rounds, 200);
}

TEST(LinkSpeed, OfOneNodeHasTheLevelWithinIt) {
  const LinkSpeeds speeds = measure_link_speeds(world(), find_topology(world()), at::kCPU);

  EXPECT_FALSE(speeds.between_nodes);
  ASSERT_EQ(speeds.within_node.has_value(), world().size() > 1);
  if (!speeds.within_node) return;
  EXPECT_EQ(speeds.within_node->num_ranks, world().size());
  expect_sensible(speeds.within_node->shortest);
  expect_sensible(speeds.within_node->longest);
  EXPECT_EQ(speeds.within_node->shortest.num_bytes, 4096);
}

TEST(LinkSpeed, OfSeveralNodesHasBothLevels) {
  // Nodes {0, 2, ...} and {1, 3, ...} that the ranks of one machine play.
  Topology topology = find_topology(world());
  topology.node = world().split(world().rank() % 2, world().rank());
  topology.local_rank = topology.node.rank();
  topology.local_size = topology.node.size();
  topology.num_nodes = std::min(2, world().size());

  const LinkSpeeds speeds = measure_link_speeds(world(), topology, at::kCPU);

  EXPECT_EQ(speeds.within_node.has_value(), world().size() > 2);
  EXPECT_EQ(speeds.between_nodes.has_value(), world().size() > 1 && topology.local_rank == 0);
  if (speeds.between_nodes) {
    EXPECT_EQ(speeds.between_nodes->num_ranks, 2);
    expect_sensible(speeds.between_nodes->longest);
  }
}

TEST(LinkSpeed, TimesAreTheSameOnAllRanks) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);

  const AllReduceTime time = time_all_reduce(*collectives, world(), 1000);

  EXPECT_EQ(time.num_bytes, 4000);
  for (const double value : {time.median_s, time.low_s, time.high_s})
    EXPECT_EQ(world().allreduce(value, ReduceOp::max), value);
}

TEST(LinkSpeed, BandwidthIsThatOfABus) {
  AllReduceTime time;
  time.num_bytes = 1000;
  time.median_s = 0.5;

  EXPECT_DOUBLE_EQ(time.bus_bytes_per_s(2), 2000);
  EXPECT_DOUBLE_EQ(time.bus_bytes_per_s(4), 3000);
}

}  // namespace
}  // namespace multicard
