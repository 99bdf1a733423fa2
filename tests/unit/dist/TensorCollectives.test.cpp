#include "dist/TensorCollectives.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "dist/MpiCollectives.hpp"
#include "support/test_world.hpp"
#include "values.hpp"

namespace multicard {
namespace {

using test::fill;
using test::first_wrong;
using test::values;
using test::world;

std::unique_ptr<TensorCollectives> mpi() {
  return make_collectives(Backend::mpi, world(), at::kCPU);
}

const std::vector<std::int64_t> kSizes{0, 1, 2, 15, 17, 1000, 16384, 16385, 100003, 1048577, 2500001};

void expect_refusal_by_all_ranks(Backend backend, at::Device device) {
  try {
    make_collectives(backend, world(), device);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    EXPECT_EQ(error.scope(), Scope::all_ranks);
  }
}

TEST(MakeCollectives, PicksTheBackendAndRefusesWhatDoesNotFit) {
  EXPECT_STREQ(make_collectives(Backend::automatic, Communicator::null(), at::kCPU)->name(), "null");
  EXPECT_STREQ(make_collectives(Backend::automatic, world(), at::kCPU)->name(), world().size() > 1 ? "mpi" : "null");
  EXPECT_STREQ(mpi()->name(), "mpi");
  expect_refusal_by_all_ranks(Backend::nccl, at::kCPU);
  expect_refusal_by_all_ranks(Backend::mpi, at::kCUDA);
}

TEST(MakeCollectives, WithoutABackendLeaveGradientsAsTheyAreAndSumTheLoss) {
  const auto silent = make_collectives(Backend::none, world(), at::kCPU);
  const at::Tensor gradients = at::full({1000}, 1.5 + world().rank()), loss = at::ones({1});

  silent->start_all_reduce(gradients, {CommDtype::bf16, {}})->wait();
  silent->all_reduce(loss);

  EXPECT_TRUE(gradients.equal(at::full({1000}, 1.5 + world().rank())));
  EXPECT_EQ(loss.item<float>(), static_cast<float>(world().size()));
}

TEST(MakeCollectives, FlatOnesSumAsThoseOfNodes) {
  const auto flat = make_collectives(Backend::mpi, world(), at::kCPU, Hierarchy::flat);
  const at::Tensor all = values<float>(1048577, world().rank());

  flat->start_all_reduce(all, {})->wait();

  EXPECT_EQ(first_wrong<float>(all, world().size()), -1);
}

template <class T>
void expect_rank_order_sums(TensorCollectives& collectives, bool in_shared_memory) {
  for (const std::int64_t numel : kSizes) {
    const at::Tensor flat = in_shared_memory ? collectives.allocate_flat(numel, test::type_of<T>) : values<T>(numel, 0);
    fill<T>(flat, collectives.rank());

    collectives.start_all_reduce(flat, {})->wait();

    EXPECT_EQ(first_wrong<T>(flat, collectives.size()), -1) << numel << " elements, shared " << in_shared_memory;
  }
}

TEST(Sum, IsMadeInRankOrderBitForBitForEverySizeAndType) {
  const auto collectives = mpi();

  for (const bool shared : {false, true}) {
    expect_rank_order_sums<float>(*collectives, shared);
    expect_rank_order_sums<double>(*collectives, shared);
  }
}

TEST(Sum, ReachesPartsOfASharedBuffer) {
  const auto collectives = mpi();
  const at::Tensor flat = collectives->allocate_flat(300000, at::kFloat);
  EXPECT_EQ(flat.abs().sum().item<float>(), 0);
  const at::Tensor part = flat.narrow(0, 12345, 200000);
  fill<float>(part, world().rank());

  collectives->start_all_reduce(part, {})->wait();

  EXPECT_EQ(first_wrong<float>(part, world().size()), -1);
  EXPECT_EQ(flat.narrow(0, 0, 12345).abs().sum().item<float>(), 0);
  EXPECT_EQ(flat.narrow(0, 212345, 300000 - 212345).abs().sum().item<float>(), 0);
}

TEST(Sum, SmallOnesGoTheShortWayWithTheSameResult) {
  const auto collectives = mpi();

  for (int turn = 0; turn < 200; ++turn) {
    const at::Tensor flat = values<float>(1 + turn, world().rank(), turn);
    collectives->all_reduce(flat);
    ASSERT_EQ(first_wrong<float>(flat, world().size(), turn), -1) << turn;
    const at::Tensor twice = values<double>(8192, world().rank(), turn);
    collectives->all_reduce(twice);
    ASSERT_EQ(first_wrong<double>(twice, world().size(), turn), -1) << turn;
  }
}

TEST(Sum, ManyMayBeUnderWayWithSmallOnesBetween) {
  const auto collectives = mpi();
  constexpr int kBuckets = 60;
  const at::Tensor flat = collectives->allocate_flat(kBuckets * 30001, at::kFloat);
  std::vector<at::Tensor> buckets;
  std::vector<std::unique_ptr<Work>> works;

  for (int b = 0; b < kBuckets; ++b) {
    // Every third lies outside the shared buffer.
    buckets.push_back(b % 3 == 2 ? values<float>(30001, 0) : flat.narrow(0, b * 30001, 30001));
    fill<float>(buckets.back(), world().rank(), b);
    works.push_back(collectives->start_all_reduce(buckets.back(), {}));
    const at::Tensor small = values<float>(33, world().rank(), 1000 + b);
    collectives->all_reduce(small);
    ASSERT_EQ(first_wrong<float>(small, world().size(), 1000 + b), -1);
  }
  for (auto& work : works)
    work->wait();

  for (int b = 0; b < kBuckets; ++b)
    EXPECT_EQ(first_wrong<float>(buckets[static_cast<std::size_t>(b)], world().size(), b), -1) << b;
}

TEST(Sum, RefusesTensorsItCannotSum) {
  const auto collectives = mpi();

  EXPECT_THROW(collectives->start_all_reduce(at::arange(4), {}), std::invalid_argument);
  EXPECT_THROW(collectives->start_all_reduce(values<float>(4, 0).view({2, 2}), {}), std::invalid_argument);
  EXPECT_THROW(collectives->all_reduce(values<float>(4, 0).slice(0, 0, 4, 2)), std::invalid_argument);
}

TEST(Sum, OverSeveralNodesHasTheSameBitsOnAllRanks) {
  // Nodes of unequal size: {0, 2}, {1}, ... Several ranks of one machine play them.
  const int num_nodes = std::min(2, world().size());
  const Communicator node = world().split(world().rank() % num_nodes, world().rank());
  MpiCollectives collectives(world(), node);
  for (const std::int64_t numel : kSizes) {
    const at::Tensor flat = numel % 2 ? collectives.allocate_flat(numel, at::kFloat) : values<float>(numel, 0);
    fill<float>(flat, world().rank());
    const at::Tensor quick = values<double>(std::min<std::int64_t>(numel, 5000), world().rank());

    collectives.start_all_reduce(flat, {})->wait();
    collectives.all_reduce(quick);

    const auto* bytes = static_cast<const unsigned char*>(flat.const_data_ptr());
    const std::vector<unsigned char> mine(bytes, bytes + flat.nbytes());
    const auto all = world().allgather(std::span<const unsigned char>(mine));
    for (int r = 0; r < world().size(); ++r)
      ASSERT_TRUE(std::equal(mine.begin(), mine.end(), all.begin() + r * static_cast<std::ptrdiff_t>(mine.size())));
    for (std::int64_t i = 0; i < numel; ++i)
      ASSERT_NEAR(flat.const_data_ptr<float>()[i], test::sum_in_order<float>(world().size(), i), 0.02);
    for (std::int64_t i = 0; i < quick.numel(); ++i)
      ASSERT_NEAR(quick.const_data_ptr<double>()[i], test::sum_in_order<double>(world().size(), i), 1e-9);
  }
}

TEST(Reduce, GivesTheRootTheSum) {
  const auto collectives = mpi();
  for (int root = 0; root < world().size(); ++root) {
    const at::Tensor flat = collectives->allocate_flat(70001, at::kFloat), loose = values<float>(70001, world().rank());
    fill<float>(flat, world().rank(), root);

    collectives->start_all_reduce(flat, {CommDtype::same, root})->wait();
    collectives->start_all_reduce(loose, {CommDtype::same, root})->wait();

    if (world().rank() != root) continue;
    EXPECT_EQ(first_wrong<float>(flat, world().size(), root), -1);
    EXPECT_EQ(first_wrong<float>(loose, world().size()), -1);
  }
}

/// All ranks on one node, and on two nodes that they play.
std::vector<std::unique_ptr<TensorCollectives>> on_one_node_and_on_two() {
  std::vector<std::unique_ptr<TensorCollectives>> all;
  all.push_back(std::make_unique<MpiCollectives>(world(), world()));
  all.push_back(std::make_unique<MpiCollectives>(world(), world().split(world().rank() % 2, world().rank())));
  return all;
}

TEST(Broadcast, CopiesTensorsOfAnyTypeAndOrderFromTheRoot) {
  for (const auto& collectives : on_one_node_and_on_two())
    for (int root = 0; root < world().size(); ++root) {
      const auto filled = [&](int salt) {
        return std::vector<at::Tensor>{
            values<float>(150003, salt),  // pieces of shared memory end inside the tensors
            at::full({3, 5}, salt, at::kByte),
            at::empty({0}, at::kLong),
            values<double>(36000, salt).view({10, 20, 9, 20}).contiguous(at::MemoryFormat::ChannelsLast),
            at::full({}, salt, at::kLong),
            values<float>(6000, salt).view({20, 300}).t(),
        };
      };
      const std::vector<at::Tensor> mine = filled(world().rank()), expected = filled(root);

      collectives->broadcast(mine, root);

      for (std::size_t i = 0; i < mine.size(); ++i)
        EXPECT_TRUE(at::equal(mine[i], expected[i])) << "tensor " << i << " from " << root;
    }
}

TEST(Broadcast, RefusesTensorsWithGaps) {
  EXPECT_THROW(mpi()->broadcast({values<float>(4, 0).slice(0, 0, 4, 2)}, 0), std::invalid_argument);
}

TEST(BroadcastTensors, CoversManyTypesAndStrides) {
  const auto collectives = mpi();
  const double mine = world().rank() + 1;
  std::vector<at::Tensor> tensors;
  tensors.reserve(23);
  for (int i = 0; i < 20; ++i)
    tensors.push_back(
        at::full({i % 4, 3, 2, 2}, mine, i % 2 ? at::kFloat : at::kLong).contiguous(at::MemoryFormat::ChannelsLast));
  tensors.push_back(at::full({}, mine, at::kBool));
  tensors.push_back(at::full({4, 4}, mine).t().requires_grad_());
  tensors.push_back(at::full({8, 4}, mine).slice(0, 0, 8, 2));

  broadcast_tensors(tensors, *collectives, 0);

  for (const at::Tensor& tensor : tensors)
    EXPECT_TRUE(at::equal(tensor, at::full(tensor.sizes(), 1, tensor.scalar_type())));
}

void expect_blocks(TensorCollectives& collectives, const std::vector<std::int64_t>& rows, std::int64_t width,
                   int root) {
  const std::int64_t num_rows = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  const std::int64_t before = std::accumulate(rows.begin(), rows.begin() + world().rank(), std::int64_t{0});
  const std::int64_t my_rows = rows[static_cast<std::size_t>(world().rank())];
  for (const at::ScalarType type : {at::kByte, at::kLong}) {
    const at::Tensor all = at::arange(num_rows * 2 * width).remainder(251).to(type).view({num_rows, 2, width});
    const at::Tensor mine = at::full({my_rows, 2, width}, 255, type);

    collectives.scatter_rows(world().rank() == root ? all : at::Tensor(), mine, rows, root);

    EXPECT_TRUE(at::equal(mine, all.narrow(0, before, my_rows))) << "type " << type << ", root " << root;
  }
}

TEST(ScatterRows, GivesEachRankItsBlockThoughSomeAreEmpty) {
  for (const auto& collectives : on_one_node_and_on_two())
    for (int root = 0; root < world().size(); ++root) {
      std::vector<std::int64_t> rows, none(static_cast<std::size_t>(world().size()), 0), last = none;
      for (int r = 0; r < world().size(); ++r)
        rows.push_back(r % 3 == 1 ? 0 : r + 2);
      last.back() = 3;
      expect_blocks(*collectives, rows, 3, root);
      expect_blocks(*collectives, rows, 9001, root);
      expect_blocks(*collectives, none, 3, root);
      expect_blocks(*collectives, last, 9001, root);
    }
}

TEST(HostCopies, MayFollowEachOtherInAnyOrder) {
  const auto collectives = mpi();
  const int n = world().size();
  for (int turn = 0; turn < 60; ++turn) {
    const int root = turn % n;
    const at::Tensor sent = values<float>(1 + turn * 997, world().rank(), turn);
    collectives->broadcast({sent}, root);
    ASSERT_TRUE(at::equal(sent, values<float>(1 + turn * 997, root, turn))) << turn;

    expect_blocks(*collectives, std::vector<std::int64_t>(static_cast<std::size_t>(n), turn % 4), 1 + turn * 7, root);
    const at::Tensor flat = values<float>(100, world().rank(), turn);
    collectives->all_reduce(flat);
    ASSERT_EQ(first_wrong<float>(flat, n, turn), -1) << turn;
  }
}

TEST(Totals, CountCallsPayloadAndBusBytes) {
  const auto collectives = mpi();
  const double n = world().size();

  collectives->all_reduce(values<float>(100, 0));
  collectives->start_all_reduce(values<float>(100000, 0), {})->wait();
  collectives->broadcast({values<float>(10, 0)}, 0);

  const auto totals = collectives->totals();
  EXPECT_EQ(totals.at("all_reduce").calls, 2);
  EXPECT_EQ(totals.at("all_reduce").payload_bytes, 400400);
  EXPECT_DOUBLE_EQ(totals.at("all_reduce").bus_bytes, 2 * (n - 1) / n * 400400);
  EXPECT_GT(totals.at("all_reduce").seconds_total, 0);
  EXPECT_GT(totals.at("all_reduce").seconds_exposed, 0);
  EXPECT_EQ(totals.at("broadcast").payload_bytes, 40);
}

TEST(Totals, TellWaitingForTheLastRankFromTheTransfer) {
  constexpr double kLate = 0.1;
  const auto collectives = mpi();
  const at::Tensor small = values<float>(100, 0), large = values<float>(100000, 0), mine = at::empty({1});
  const std::vector<std::int64_t> rows(static_cast<std::size_t>(world().size()), 1);
  const at::Tensor all = at::ones({world().size()});
  const std::vector<std::pair<const char*, std::function<void()>>> operations{
      {"all_reduce", [&] { collectives->all_reduce(small); }},
      {"all_reduce", [&] { collectives->start_all_reduce(large, {})->wait(); }},
      {"broadcast", [&] { collectives->broadcast({large}, 0); }},
      {"scatter", [&] { collectives->scatter_rows(all, mine, rows, 0); }}};
  /// Seconds that this rank waits in an operation that rank 0 enters late.
  const auto skew_of = [&](const char* kind, const std::function<void()>& operation) {
    const auto before = collectives->totals();
    world().barrier();
    if (world().is_root()) std::this_thread::sleep_for(std::chrono::duration<double>(kLate));
    operation();
    const CommunicationTotals totals = collectives->totals().at(kind);
    EXPECT_LE(totals.seconds_skew, totals.seconds_total);
    return totals.seconds_skew - (before.contains(kind) ? before.at(kind).seconds_skew : 0);
  };
  for (const auto& [kind, operation] : operations) {
    // On a busy machine any rank may be later than it should be, but hardly thrice.
    double least = 1, most = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      const double skew = skew_of(kind, operation);
      least = std::min(least, skew);
      most = std::max(most, skew);
    }
    if (world().is_root())
      EXPECT_LT(least, kLate / 2) << kind;  // it came last
    else
      EXPECT_GE(most, kLate / 2) << kind;
  }
}

TEST(NullCollectives, EqualMpiOnOneRank) {
  if (world().size() > 1) GTEST_SKIP() << "about one rank";
  const auto null = make_collectives(Backend::automatic, Communicator::null(), at::kCPU);
  const auto one = mpi();
  for (TensorCollectives* collectives : {null.get(), one.get()}) {
    const at::Tensor flat = collectives->allocate_flat(1001, at::kDouble);
    fill<double>(flat, 0);
    const at::Tensor rows = at::empty({2, 3}, at::kLong);

    collectives->start_all_reduce(flat, {})->wait();
    collectives->start_all_reduce(flat, {CommDtype::same, 0})->wait();
    collectives->broadcast({flat}, 0);
    collectives->scatter_rows(at::arange(6).view({2, 3}), rows, {2}, 0);

    EXPECT_EQ(first_wrong<double>(flat, 1), -1) << collectives->name();
    EXPECT_TRUE(at::equal(rows, at::arange(6).view({2, 3}))) << collectives->name();
    EXPECT_EQ(collectives->totals().at("all_reduce").bus_bytes, 0) << collectives->name();
  }
}

TEST(AllocateFlat, MemoryOutlivesItsCollectives) {
  at::Tensor flat;
  {
    const auto collectives = mpi();
    flat = collectives->allocate_flat(100000, at::kFloat);
    collectives->start_all_reduce(flat, {})->wait();
  }

  flat.fill_(world().rank());

  EXPECT_EQ(flat.sum().item<float>(), 100000.0F * static_cast<float>(world().rank()));
}

}  // namespace
}  // namespace multicard
