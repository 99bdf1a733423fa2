// Sums of large arrays on one node, and on nodes that are made of one.
#include "dist/NodeAllReduce.hpp"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "support/test_world.hpp"
#include "values.hpp"

namespace multicard {
namespace {

using test::first_wrong;
using test::value_of;
using test::values;
using test::world;

ReduceOperand operand_of(const at::Tensor& flat) {
  ReduceOperand operand;
  operand.data = static_cast<std::byte*>(flat.data_ptr());
  operand.count = static_cast<std::size_t>(flat.numel());
  operand.type = flat.scalar_type();
  return operand;
}

/// Nodes of `size` ranks, as far as they go.
Communicator nodes_of(int size) {
  return world().split(world().rank() / size, world().rank());
}

TEST(NodeAllReduce, GivesEveryRankTheSumInRankOrder) {
  const NodeGroup group(world(), world());
  NodeAllReduce sums(group);
  // Fewer values than ranks, uneven slices, several pieces of the buffer.
  for (const std::int64_t numel : {1, 2, 3, 1000, 1 << 20, (5 << 20) + 7}) {
    SCOPED_TRACE(numel);
    const at::Tensor single = values<float>(numel, world().rank()), wide = values<double>(numel, world().rank(), 5);
    sums.all_reduce(operand_of(single));
    sums.all_reduce(operand_of(wide));

    EXPECT_EQ(first_wrong<float>(single, world().size()), -1);
    EXPECT_EQ(first_wrong<double>(wide, world().size(), 5), -1);
  }
}

TEST(NodeAllReduce, ReducesInSharedMemoryWhereItLies) {
  const NodeGroup group(world(), world());
  NodeAllReduce sums(group);
  constexpr std::size_t kCount = 100'003;
  const std::shared_ptr<SharedMemory> memory = SharedMemory::create(world(), kCount * sizeof(float));
  if (memory == nullptr) GTEST_SKIP() << "no shared memory";
  auto* mine = reinterpret_cast<float*>(memory->part(world().rank()));
  for (std::size_t i = 0; i < kCount; ++i)
    mine[i] = value_of<float>(world().rank(), static_cast<std::int64_t>(i));
  ReduceOperand operand{memory->part(world().rank()), kCount, at::kFloat, memory, 0, {}};
  sums.all_reduce(operand);

  for (std::size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(mine[i], test::sum_in_order<float>(world().size(), static_cast<std::int64_t>(i))) << i;
}

TEST(NodeAllReduce, OnlyTheRootNeedsTheSumOfAReduce) {
  const NodeGroup group(world(), world());
  NodeAllReduce sums(group);
  const int root = world().size() - 1;
  const at::Tensor flat = values<float>(50'001, world().rank());
  ReduceOperand operand = operand_of(flat);
  operand.options.root = root;
  sums.all_reduce(operand);

  if (world().rank() == root) {
    EXPECT_EQ(first_wrong<float>(flat, world().size()), -1);
  }
}

TEST(NodeAllReduce, RanksOfUnevenNodesGetEqualBits) {
  for (const int size : {1, 2, 3}) {  // 4 ranks: nodes of 1+1+1+1, 2+2, 3+1
    SCOPED_TRACE(size);
    const Communicator node = nodes_of(size);
    const NodeGroup group(world(), node);
    NodeAllReduce sums(group);
    EXPECT_EQ(group.node.size(), node.size());
    const at::Tensor flat = values<double>(70'001, world().rank());
    sums.all_reduce(operand_of(flat));

    const auto bytes = std::string(static_cast<const char*>(flat.data_ptr()), flat.nbytes());
    for (const std::string& other : world().allgather(bytes))
      EXPECT_TRUE(other == bytes);
    const auto* data = flat.const_data_ptr<double>();
    for (std::int64_t i = 0; i < flat.numel(); i += 97) {
      const double expected = test::sum_in_order<double>(world().size(), i);
      EXPECT_NEAR(data[i], expected, 1e-12 * (1e4 + std::abs(expected))) << i;
    }
  }
}

TEST(NodeAllReduce, AbortEndsTheWaitingOfTheOthers) {
  if (world().size() == 1) return;
  const NodeGroup group(world(), world());
  NodeAllReduce sums(group);
  const at::Tensor flat = values<float>(1 << 20, world().rank());
  if (world().rank() == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    group.channel->abort();
    EXPECT_THROW(sums.all_reduce(operand_of(flat)), Error);
  } else {
    EXPECT_THROW(sums.all_reduce(operand_of(flat)), Error);
  }
  world().barrier();
}

TEST(SmallAllReduce, GivesEveryRankTheSumInRankOrder) {
  SmallAllReduce sums(world(), world());
  for (int turn = 0; turn < 50; ++turn)
    for (const std::int64_t numel : {1, 5, 8192}) {  // the last is as large as it may be
      const at::Tensor flat = values<double>(numel, world().rank(), turn);
      sums.all_reduce(static_cast<std::byte*>(flat.data_ptr()), static_cast<std::size_t>(numel), at::kDouble);
      ASSERT_EQ(first_wrong<double>(flat, world().size(), turn), -1) << numel << " in turn " << turn;
    }
}

}  // namespace
}  // namespace multicard
