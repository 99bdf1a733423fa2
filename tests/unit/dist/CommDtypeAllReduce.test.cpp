// All-reduce with a 16-bit communication dtype, over nodes that the ranks of one machine play.
#include <bit>
#include <limits>

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "dist/MpiCollectives.hpp"
#include "support/test_world.hpp"
#include "values.hpp"

namespace multicard {
namespace {

using test::first_wrong;
using test::values;
using test::world;
using Nodes = std::vector<std::vector<int>>;
using Limits = std::numeric_limits<float>;

constexpr CommDtype kCommDtypes[] = {CommDtype::bf16, CommDtype::fp16};

struct Topology {
  const char* name;
  int (*node_of)(int rank);
};

constexpr Topology kTopologies[] = {
    {"OneNode", [](int) { return 0; }},
    {"Alternating", [](int rank) { return rank % 2; }},
    {"ManyOnTheSecond", [](int rank) { return rank > 0 ? 1 : 0; }},
    {"OuterAndInner", [](int rank) { return rank == 1 || rank == 2 ? 1 : 0; }},
    {"OneRankEach", [](int rank) { return rank; }},
};

void PrintTo(const Topology& topology, std::ostream* stream) {
  *stream << topology.name;
}

class CommDtypeAllReduces : public testing::TestWithParam<Topology> {
 protected:
  Communicator node() const { return world().split(GetParam().node_of(world().rank()), world().rank()); }

  /// The ranks of each node; nodes by their first rank.
  Nodes nodes() const {
    Nodes nodes(static_cast<std::size_t>(world().size()));
    for (int rank = 0; rank < world().size(); ++rank)
      nodes[static_cast<std::size_t>(GetParam().node_of(rank))].push_back(rank);
    std::erase_if(nodes, [](const std::vector<int>& ranks) { return ranks.empty(); });
    return nodes;
  }
};

float ordinary(int rank, std::int64_t i) {
  return test::value_of<float>(rank, i);
}

/// Values at and beyond the limits of the types, in combinations that differ from rank to rank.
float extreme(int rank, std::int64_t i) {
  constexpr float kValues[] = {
      0,     -0.0F,       1e-8F, -3e-6F, Limits::infinity(), -Limits::infinity(), 40000,
      65504, -65519.9F,   65520, 1e30F,  -3.3e38F,           Limits::quiet_NaN(), Limits::denorm_min(),
      1.5F,  1.00390625F, 2049,  -2051,  Limits::max()};
  return kValues[static_cast<std::size_t>(i * (1 + 2 * rank) + rank * (i / 19)) % std::size(kValues)];
}

void fill(const at::Tensor& flat, const test::Value& value) {
  for (std::int64_t i = 0; i < flat.numel(); ++i)
    flat.data_ptr<float>()[i] = value(world().rank(), i);
}

void expect_same_bits_everywhere(const at::Tensor& flat) {
  const auto* bytes = static_cast<const unsigned char*>(flat.const_data_ptr());
  const std::vector<unsigned char> mine(bytes, bytes + flat.nbytes());
  const auto all = world().allgather(std::span<const unsigned char>(mine));
  for (int r = 0; r < world().size(); ++r)
    EXPECT_TRUE(std::equal(mine.begin(), mine.end(), all.begin() + r * static_cast<std::ptrdiff_t>(mine.size())))
        << "here and on rank " << r;
}

TEST_P(CommDtypeAllReduces, EqualTheDocumentedSumBitForBitOnAllRanks) {
  MpiCollectives collectives(world(), node());
  for (const CommDtype comm_dtype : kCommDtypes)
    for (const std::int64_t numel : {0, 1, 2, 17, 1001, 16385})
      for (const bool shared : {false, true}) {
        const at::Tensor flat = shared ? collectives.allocate_flat(numel, at::kFloat) : values<float>(numel, 0);
        fill(flat, ordinary);

        collectives.start_all_reduce(flat, {comm_dtype, std::nullopt})->wait();

        EXPECT_EQ(first_wrong(flat, nodes(), ordinary, comm_dtype), -1) << numel << " elements, shared " << shared;
        expect_same_bits_everywhere(flat);
      }
}

TEST_P(CommDtypeAllReduces, OfManyPiecesReachTheirEnds) {
  MpiCollectives collectives(world(), node());
  constexpr std::int64_t kNumel = 1200003, kEnd = 3000, kPiece = 1 << 20;
  const at::Tensor flat = values<float>(kNumel, world().rank());

  collectives.start_all_reduce(flat, {CommDtype::bf16, std::nullopt})->wait();

  for (const std::int64_t first : {std::int64_t{0}, kPiece - kEnd, kPiece, kNumel - kEnd})
    EXPECT_EQ(first_wrong(
                  flat.narrow(0, first, kEnd), nodes(),
                  [&](int rank, std::int64_t i) { return ordinary(rank, first + i); }, CommDtype::bf16),
              -1)
        << first;
  expect_same_bits_everywhere(flat);
}

TEST_P(CommDtypeAllReduces, KeepWhatIsNotFiniteAndRoundWhatIsSmall) {
  MpiCollectives collectives(world(), node());
  for (const CommDtype comm_dtype : kCommDtypes) {
    const at::Tensor flat = collectives.allocate_flat(5000, at::kFloat);
    fill(flat, extreme);

    collectives.start_all_reduce(flat, {comm_dtype, std::nullopt})->wait();

    EXPECT_EQ(first_wrong(flat, nodes(), extreme, comm_dtype), -1);
    expect_same_bits_everywhere(flat);
  }
}

TEST_P(CommDtypeAllReduces, GiveTheRootTheSameBits) {
  MpiCollectives collectives(world(), node());
  for (const CommDtype comm_dtype : {CommDtype::same, CommDtype::bf16, CommDtype::fp16})
    for (int root = 0; root < world().size(); ++root) {
      const test::Value value = [&](int rank, std::int64_t i) { return ordinary(rank, i + root); };
      const at::Tensor flat = collectives.allocate_flat(7001, at::kFloat), copy = values<float>(7001, 0);
      fill(flat, value);
      fill(copy, value);

      collectives.start_all_reduce(flat, {comm_dtype, root})->wait();
      collectives.start_all_reduce(copy, {comm_dtype, std::nullopt})->wait();

      if (world().rank() != root) continue;
      EXPECT_TRUE(flat.equal(copy)) << root;
    }
}

TEST_P(CommDtypeAllReduces, AreWhatTensorsOfBfloat16GetBitForBit) {
  MpiCollectives collectives(world(), node());
  for (const std::int64_t numel : {0, 1, 17, 1001, 16385, 2200003})
    for (const bool shared : {false, true})
      for (const std::optional<int> root : {std::optional<int>(), std::optional<int>(world().size() - 1)}) {
        const at::Tensor wide = values<float>(numel, world().rank());
        const at::Tensor flat = shared ? collectives.allocate_flat(numel, at::kBFloat16) : wide.to(at::kBFloat16);
        flat.copy_(wide);

        collectives.start_all_reduce(flat, {CommDtype::same, root})->wait();
        collectives.start_all_reduce(wide, {CommDtype::bf16, std::nullopt})->wait();

        if (root.value_or(world().rank()) != world().rank()) continue;
        EXPECT_TRUE(flat.to(at::kFloat).equal(wide)) << numel << " elements, shared " << shared;
      }
}

TEST_P(CommDtypeAllReduces, OfSmallTensorsOfBfloat16AreTheSame) {
  MpiCollectives collectives(world(), node());
  const at::Tensor small = values<float>(99, world().rank()).to(at::kBFloat16), queued = small.clone();

  collectives.all_reduce(small);
  collectives.start_all_reduce(queued, {})->wait();

  EXPECT_TRUE(small.equal(queued));
}

TEST_P(CommDtypeAllReduces, MayBeUnderWayTogether) {
  MpiCollectives collectives(world(), node());
  constexpr int kSums = 12;
  const at::Tensor flat = collectives.allocate_flat(kSums * std::int64_t{2003}, at::kFloat);
  const auto comm_dtype_of = [](int sum) { return kCommDtypes[sum % 2]; };
  std::vector<std::unique_ptr<Work>> works;

  for (int s = 0; s < kSums; ++s) {
    const at::Tensor part = flat.narrow(0, s * 2003, 2003);
    fill(part, [&](int rank, std::int64_t i) { return ordinary(rank, i + s); });
    works.push_back(collectives.start_all_reduce(part, {comm_dtype_of(s), std::nullopt}));
  }
  for (const auto& work : works)
    work->wait();

  for (int s = 0; s < kSums; ++s)
    EXPECT_EQ(first_wrong(
                  flat.narrow(0, s * 2003, 2003), nodes(),
                  [&](int rank, std::int64_t i) { return ordinary(rank, i + s); }, comm_dtype_of(s)),
              -1)
        << s;
}

INSTANTIATE_TEST_SUITE_P(Topologies, CommDtypeAllReduces, testing::ValuesIn(kTopologies),
                         [](const testing::TestParamInfo<Topology>& one) { return std::string(one.param.name); });

TEST(CommDtypeAllReduce, OverflowOfFp16IsSeenByAllRanks) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const at::Tensor flat = at::full({100}, 30000.0F / static_cast<float>(world().size()));
  flat[7] = world().rank() == 0 ? 1e5F : 1.0F;
  flat[8] = world().rank() == 0 ? Limits::quiet_NaN() : 1.0F;

  collectives->start_all_reduce(flat, {CommDtype::fp16, std::nullopt})->wait();

  EXPECT_NEAR(flat[6].item<float>(), 30000, 16);
  EXPECT_EQ(flat[7].item<float>(), Limits::infinity());
  EXPECT_TRUE(std::isnan(flat[8].item<float>()));
}

TEST(CommDtypeAllReduce, IsTheSameWithOneRankAsWithoutMpi) {
  const auto null = make_collectives(Backend::automatic, Communicator::null(), at::kCPU);
  for (const CommDtype comm_dtype : kCommDtypes) {
    const at::Tensor flat = values<float>(1001, 0);
    fill(flat, extreme);

    null->start_all_reduce(flat, {comm_dtype, std::nullopt})->wait();

    const auto mine = [](int, std::int64_t i) { return extreme(world().rank(), i); };
    EXPECT_EQ(first_wrong(flat, {{0}}, mine, comm_dtype), -1);
  }
}

TEST(CommDtypeAllReduce, CountsHalfTheBytes) {
  const auto collectives = make_collectives(Backend::mpi, world(), at::kCPU);
  const double n = world().size();

  collectives->start_all_reduce(values<float>(1000, 0), {CommDtype::bf16, std::nullopt})->wait();
  collectives->start_all_reduce(values<float>(3000, 0), {CommDtype::fp16, 0})->wait();

  const auto totals = collectives->totals();
  EXPECT_EQ(totals.at("all_reduce").payload_bytes, 2000);
  EXPECT_DOUBLE_EQ(totals.at("all_reduce").bus_bytes, 2 * (n - 1) / n * 2000);
  EXPECT_EQ(totals.at("reduce").payload_bytes, 6000);
  EXPECT_DOUBLE_EQ(totals.at("reduce").bus_bytes, n > 1 ? 6000 : 0);
}

TEST(CommDtypeAllReduce, RefusesFloat64AndOtherWords) {
  const auto collectives = make_collectives(Backend::mpi, world(), at::kCPU);

  EXPECT_THROW(collectives->start_all_reduce(values<double>(4, 0), {CommDtype::bf16, std::nullopt}),
               std::invalid_argument);
  const at::Tensor narrow = values<float>(4, 0).to(at::kBFloat16);
  EXPECT_THROW(collectives->start_all_reduce(narrow, {CommDtype::fp16, std::nullopt}), std::invalid_argument);
}

}  // namespace
}  // namespace multicard
