// Gathering equal parts of all ranks, and sums of which each rank gets one: on one node, and on nodes made of one.
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "dist/MpiCollectives.hpp"
#include "support/test_world.hpp"
#include "values.hpp"

namespace multicard {
namespace {

using test::values;
using test::world;

/// Ranks of one machine in nodes: all in one, by turns over two, or one rank a node.
enum class Nodes { one, two, each };
constexpr Nodes kNodes[] = {Nodes::one, Nodes::two, Nodes::each};

std::unique_ptr<TensorCollectives> collectives_on(Nodes nodes) {
  const int color = nodes == Nodes::one ? 0 : nodes == Nodes::two ? world().rank() % 2 : world().rank();
  return std::make_unique<MpiCollectives>(world(), world().split(color, world().rank()));
}

/// Fewer elements than a segment of a message, several pieces of the buffers of nodes.
const std::vector<std::int64_t> kSizes{0, 1, 15, 1000, 300007, 700001};

at::Tensor part_of_rank(int rank, std::int64_t numel, at::ScalarType type) {
  return values<float>(numel, rank).to(type);
}

void expect_gathered(const at::Tensor& whole, std::int64_t numel) {
  for (int rank = 0; rank < world().size(); ++rank)
    EXPECT_TRUE(whole.narrow(0, rank * numel, numel).equal(part_of_rank(rank, numel, whole.scalar_type())))
        << numel << " elements, part of rank " << rank;
}

class ShardCollectives : public testing::TestWithParam<Nodes> {
 protected:
  std::unique_ptr<TensorCollectives> collectives_ = collectives_on(GetParam());
};

TEST_P(ShardCollectives, GatherThePartsOfAllRanks) {
  for (const std::int64_t numel : kSizes)
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      const at::Tensor whole = at::zeros({numel * world().size()}, type);

      collectives_->start_all_gather(part_of_rank(world().rank(), numel, type), whole)->wait();

      expect_gathered(whole, numel);
    }
}

TEST_P(ShardCollectives, GatherFromSharedMemoryWhilePartsChangeBetweenTurns) {
  constexpr std::int64_t kNumel = 300007;
  const at::Tensor memory = collectives_->allocate_flat(kNumel + 64, at::kFloat), part = memory.narrow(0, 64, kNumel);
  for (int turn = 0; turn < 20; ++turn) {
    const at::Tensor whole = at::zeros({kNumel * world().size()});
    test::fill<float>(part, world().rank(), turn);

    collectives_->start_all_gather(part, whole)->wait();

    for (int rank = 0; rank < world().size(); ++rank)
      ASSERT_TRUE(whole.narrow(0, rank * kNumel, kNumel).equal(values<float>(kNumel, rank, turn))) << turn;
  }
}

TEST_P(ShardCollectives, GatherInPlace) {
  constexpr std::int64_t kNumel = 100003;
  const at::Tensor whole = at::zeros({kNumel * world().size()}),
                   part = whole.narrow(0, world().rank() * kNumel, kNumel);
  test::fill<float>(part, world().rank());

  collectives_->start_all_gather(part, whole)->wait();

  expect_gathered(whole, kNumel);
}

/// A reduce-scatter of as many elements a part, and the same part of an all-reduce.
void expect_bits_of_all_reduce(TensorCollectives& collectives, std::int64_t numel, at::ScalarType type,
                               CommDtype comm_dtype, bool in_shared_memory) {
  const std::int64_t all = numel * world().size();
  const at::Tensor sum = values<double>(all, world().rank()).to(type);
  const at::Tensor flat = in_shared_memory ? collectives.allocate_flat(all, type) : sum.clone();
  flat.copy_(sum);

  collectives.start_reduce_scatter(flat, comm_dtype)->wait();
  collectives.start_all_reduce(sum, {comm_dtype, {}})->wait();

  const std::int64_t first = world().rank() * numel;
  EXPECT_TRUE(flat.narrow(0, first, numel).equal(sum.narrow(0, first, numel)))
      << numel << " elements a part, type " << static_cast<int>(type) << ", communication dtype "
      << static_cast<int>(comm_dtype) << ", shared " << in_shared_memory;
}

TEST_P(ShardCollectives, AddAsAllReducesDo) {
  for (const std::int64_t numel : kSizes)
    for (const bool shared : {false, true}) {
      for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16})
        expect_bits_of_all_reduce(*collectives_, numel, type, CommDtype::same, shared);
      for (const CommDtype comm_dtype : {CommDtype::bf16, CommDtype::fp16})
        expect_bits_of_all_reduce(*collectives_, numel, at::kFloat, comm_dtype, shared);
    }
}

TEST_P(ShardCollectives, ManyMayBeUnderWay) {
  constexpr std::int64_t kNumel = 30001;
  const int size = world().size();
  std::vector<at::Tensor> sums, wholes;
  std::vector<std::unique_ptr<Work>> works;
  for (int turn = 0; turn < 20; ++turn) {
    sums.push_back(values<float>(kNumel * size, world().rank(), turn));
    wholes.push_back(at::zeros({kNumel * size}));
    works.push_back(collectives_->start_reduce_scatter(sums.back(), CommDtype::same));
    works.push_back(collectives_->start_all_gather(values<float>(kNumel, world().rank(), turn), wholes.back()));
  }
  for (const std::unique_ptr<Work>& work : works)
    work->wait();

  for (int turn = 0; turn < 20; ++turn) {
    const at::Tensor& whole = wholes[static_cast<std::size_t>(turn)];
    for (int rank = 0; rank < size; ++rank)
      ASSERT_TRUE(whole.narrow(0, rank * kNumel, kNumel).equal(values<float>(kNumel, rank, turn))) << turn;
  }
}

std::string name_of(const testing::TestParamInfo<Nodes>& test) {
  return test.param == Nodes::one ? "OneNode" : test.param == Nodes::two ? "TwoNodes" : "ANodeForEach";
}

INSTANTIATE_TEST_SUITE_P(Of, ShardCollectives, testing::ValuesIn(kNodes), name_of);

TEST(ShardCollective, OfOneRankCopiesAndRounds) {
  const auto null = make_collectives(Backend::automatic, Communicator::null(), at::kCPU);
  const at::Tensor whole = at::zeros({3}), flat = at::full({4}, 1 + 0x1p-12);

  null->start_all_gather(at::arange(3.0F), whole)->wait();
  null->start_reduce_scatter(flat, CommDtype::bf16)->wait();

  EXPECT_TRUE(whole.equal(at::arange(3.0F)));
  EXPECT_TRUE(flat.equal(at::full({4}, 1.0)));
}

TEST(ShardCollective, WithoutABackendGathersButAddsNothing) {
  const auto silent = make_collectives(Backend::none, world(), at::kCPU);
  const std::int64_t size = world().size();
  const at::Tensor whole = at::zeros({size}), flat = at::full({size}, 1.0 + world().rank());

  silent->start_all_gather(at::full({1}, 1.0F * static_cast<float>(world().rank())), whole)->wait();
  silent->start_reduce_scatter(flat, CommDtype::same)->wait();

  EXPECT_TRUE(whole.equal(at::arange(static_cast<float>(size))));
  EXPECT_TRUE(flat.equal(at::full({size}, 1.0 + world().rank())));
}

TEST(ShardCollective, AreCountedWithTheBytesOfAllRanks) {
  const auto mpi = make_collectives(Backend::mpi, world(), at::kCPU);
  const std::int64_t size = world().size();
  mpi->start_all_gather(at::zeros({5}), at::zeros({5 * size}))->wait();
  mpi->start_reduce_scatter(at::zeros({6 * size}), CommDtype::bf16)->wait();

  const auto totals = mpi->totals();

  EXPECT_EQ(totals.at("all_gather").payload_bytes, 20 * size);
  EXPECT_EQ(totals.at("reduce_scatter").payload_bytes, 12 * size);
  EXPECT_DOUBLE_EQ(totals.at("all_gather").bus_bytes, 20.0 * static_cast<double>(size - 1));
}

TEST(ShardCollective, RefuseTensorsWithoutAPartForEachRank) {
  const auto mpi = make_collectives(Backend::mpi, world(), at::kCPU);
  const std::int64_t size = world().size();

  EXPECT_THROW(mpi->start_all_gather(at::zeros({2}), at::zeros({2 * size + 1})), std::invalid_argument);
  EXPECT_THROW(mpi->start_all_gather(at::zeros({2}, at::kDouble), at::zeros({2 * size})), std::invalid_argument);
  if (size == 1) return;
  EXPECT_THROW(mpi->start_reduce_scatter(at::zeros({2 * size + 1}), {}), std::invalid_argument);
}

}  // namespace
}  // namespace multicard
