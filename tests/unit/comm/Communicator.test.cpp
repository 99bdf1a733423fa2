#include "comm/Communicator.hpp"

#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "base/Clock.hpp"
#include "comm/Topology.hpp"
#include "comm/Watchdog.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

TEST(NullCommunicator, IsOneRankWhoseCollectivesChangeNothing) {
  const Communicator null = Communicator::null();
  std::vector<double> values{1, 2};

  null.barrier();
  null.broadcast(std::span(values));
  null.allreduce(std::span(values), ReduceOp::sum);

  EXPECT_EQ(null.rank(), 0);
  EXPECT_EQ(null.size(), 1);
  EXPECT_TRUE(null.is_null());
  EXPECT_EQ(values, (std::vector<double>{1, 2}));
  EXPECT_EQ(null.allgather(7), std::vector<int>{7});
  EXPECT_EQ(null.allgather(std::string("x")), std::vector<std::string>{"x"});
  EXPECT_EQ(null.gather("x"), std::vector<std::string>{"x"});
  EXPECT_EQ(null.split(0, 0).size(), 1);
}

TEST(Communicator, ReducesSumMinAndMax) {
  const int n = world().size();
  const std::int64_t mine = world().rank() + 1;

  EXPECT_EQ(world().allreduce(mine, ReduceOp::sum), n * (n + 1) / 2);
  EXPECT_EQ(world().allreduce(mine, ReduceOp::min), 1);
  EXPECT_EQ(world().allreduce(mine, ReduceOp::max), n);
}

TEST(Communicator, BroadcastsValuesAndTexts) {
  std::vector<float> values(3, static_cast<float>(world().rank()));

  world().broadcast(std::span(values), world().size() - 1);

  EXPECT_EQ(values[2], static_cast<float>(world().size() - 1));
  EXPECT_EQ(world().broadcast(world().is_root() ? std::string("a\0b", 3) : std::string("longer")),
            std::string("a\0b", 3));
  EXPECT_EQ(world().broadcast(std::string()), "");
}

TEST(Communicator, GathersInRankOrder) {
  const auto ranks = world().allgather(world().rank());
  std::vector<int> expected(static_cast<std::size_t>(world().size()));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(ranks, expected);

  const auto texts = world().allgather(std::string(static_cast<std::size_t>(world().rank()), 'x'));
  for (int r = 0; r < world().size(); ++r)
    EXPECT_EQ(texts[static_cast<std::size_t>(r)].size(), static_cast<std::size_t>(r));
}

TEST(Communicator, GathersTextsOfAnyLengthOnOneRank) {
  const int root = world().size() - 1;
  const std::string mine(static_cast<std::size_t>(1000 * world().rank()), static_cast<char>('a' + world().rank()));
  const std::vector<std::string> texts = world().gather(mine, root);
  if (world().rank() != root) {
    EXPECT_TRUE(texts.empty());
    return;
  }
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(world().size()));
  for (std::size_t rank = 0; rank < texts.size(); ++rank)
    EXPECT_EQ(texts[rank], std::string(1000 * rank, static_cast<char>('a' + rank)));
}

TEST(Communicator, SplitsIntoGroups) {
  const Communicator half = world().split(world().rank() % 2, world().rank());

  EXPECT_EQ(half.allreduce(1, ReduceOp::sum), half.size());
  EXPECT_EQ(half.rank(), world().rank() / 2);
}

TEST(Communicator, AGroupIsWatchedByItself) {
  const double before = world().watchdog()->limit();
  const Communicator half = world().split(world().rank() % 2, world().rank());

  half.watchdog()->set_limit(before + 5);

  EXPECT_EQ(world().watchdog()->limit(), before);
  EXPECT_EQ(half.duplicate().watchdog(), half.watchdog());
  EXPECT_EQ(half.split_by_node().watchdog(), half.watchdog());
  EXPECT_EQ(half.split(0, 0, Watched::together).watchdog(), half.watchdog());
}

TEST(Communicator, IdleBarrierWaitsForTheLastRank) {
  const TimePoint before = SteadyClock::now();
  world().barrier();  // ranks begin at different times; a rank that is here has read its clock
  if (world().is_root()) std::this_thread::sleep_for(std::chrono::milliseconds(100));

  world().idle_barrier();

  EXPECT_GE(seconds_since(before), 0.09);
  Communicator::null().idle_barrier();
}

TEST(Topology, OneMachineIsOneNode) {
  const Topology topology = find_topology(world());

  EXPECT_EQ(topology.num_nodes, 1);
  EXPECT_EQ(topology.local_size, world().size());
  EXPECT_EQ(topology.hosts.size(), static_cast<std::size_t>(world().size()));
  EXPECT_EQ(topology.nodes, std::vector<int>(static_cast<std::size_t>(world().size()), 0));
}

}  // namespace
}  // namespace multicard
