// Networks whose frozen blocks are gathered when they compute, against networks that hold them.
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "five_blocks.hpp"
#include "sharding/ShardedNetwork.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::clear_gradients;
using test::random_batch;
using test::small_config;
using test::world;

struct Case {
  const char* name;
  at::ScalarType weights, compute;
  bool is_nf4;
  Checkpointing checkpointing;
  std::vector<std::string> targets = {"all-linear"};
};

const Case kCases[] = {
    {"Double", at::kDouble, at::kDouble, false, Checkpointing::off},
    {"DoubleCheckpointed", at::kDouble, at::kDouble, false, Checkpointing::per_layer},
    {"BFloat16", at::kBFloat16, at::kBFloat16, false, Checkpointing::off},
    {"Autocast", at::kFloat, at::kBFloat16, false, Checkpointing::per_layer},
    {"Nf4", at::kBFloat16, at::kBFloat16, true, Checkpointing::off},
    {"Nf4Checkpointed", at::kFloat, at::kFloat, true, Checkpointing::per_layer},
    {"UpperBlocks", at::kDouble, at::kDouble, false, Checkpointing::off, {"layers.3.mlp.up_proj"}},
    {"UpperBlocksCheckpointed", at::kFloat, at::kFloat, true, Checkpointing::per_layer, {"layers.4.mlp.down_proj"}},
};

NetworkPlan plan_of(const Case& test) {
  WeightFormat format;
  if (test.is_nf4) format.kind = WeightFormat::Kind::nf4;
  return test::plan_of_five_blocks(test.weights, format);
}

/// Adapters that are not zero, and dropout.
std::unique_ptr<Llama> adapted(std::unique_ptr<Llama> network, const Case& test) {
  network->add_adapters({.settings = {.rank = 4, .alpha = 8, .dropout = 0.1, .targets = test.targets},
                         .dtype = test.weights == at::kDouble ? at::kDouble : at::kFloat});
  test::fill_adapters(*network);
  network->set_compute_dtype(test.compute);
  network->set_checkpointing(test.checkpointing);
  return network;
}

std::unique_ptr<Llama> whole_network(const Case& test) {
  return adapted(test::whole_network(plan_of(test)), test);
}

std::unique_ptr<Llama> sharded_network(const Case& test, TensorCollectives& collectives) {
  return adapted(load_sharded_network(plan_of(test), {&collectives}, ShardedBlocks::Leftovers::poisoned).network, test);
}

ShardedBlocks& blocks_of(const Llama& network) {
  return dynamic_cast<ShardedBlocks&>(*network.block_hooks());
}

test::TextBatchParts batch() {
  at::manual_seed(3);
  return random_batch({{5, 9}, {13}, {3, 4, 7}}, 14, small_config().vocabulary_size);
}

/// The loss of a step and the gradients of all adapters.
std::vector<at::Tensor> step(Llama& network, std::uint64_t seed) {
  const test::TextBatchParts parts = batch();
  network.set_dropout_seed(seed);
  clear_gradients(network);
  const at::Tensor loss = network.loss_sum(parts.input());
  loss.backward();
  std::vector<at::Tensor> found{loss.detach()};
  for (const NamedTensor& parameter : network.parameters())
    found.push_back(parameter.tensor.grad().clone());
  return found;
}

void expect_same(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(at::equal(got[i], wanted[i])) << i;
}

class ShardedBlocksOf : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<TensorCollectives> collectives_ = make_collectives(Backend::automatic, world(), at::kCPU);
};

TEST_P(ShardedBlocksOf, GiveTheBitsOfANetworkThatHoldsThem) {
  const auto whole = whole_network(GetParam()), sharded = sharded_network(GetParam(), *collectives_);

  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    expect_same(step(*sharded, seed), step(*whole, seed));
  whole->set_training(Mode::evaluate);
  sharded->set_training(Mode::evaluate);
  const at::Tensor tokens = batch().tokens;
  EXPECT_TRUE(at::equal(sharded->logits(tokens), whole->logits(tokens)));
  expect_same(step(*sharded, 4), step(*whole, 4));
}

TEST_P(ShardedBlocksOf, AreGatheredForOthersByRanksThatHaveNothingToCompute) {
  const auto whole = whole_network(GetParam()), sharded = sharded_network(GetParam(), *collectives_);
  ShardedBlocks& blocks = blocks_of(*sharded);

  for (int turn = 0; turn < 4; ++turn)
    if (turn % world().size() != world().rank() || world().size() == 1) {
      expect_same(step(*sharded, 1), step(*whole, 1));
    } else {
      blocks.idle_forward();
      blocks.idle_backward();
    }
}

std::int64_t bytes_gathered(TensorCollectives& collectives) {
  const auto totals = collectives.totals();
  const auto found = totals.find("all_gather");
  return found == totals.end() ? 0 : found->second.payload_bytes;
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Of, ShardedBlocksOf, testing::ValuesIn(kCases), name_of);

TEST(ShardedBlocks, AreGatheredOnceForwardAndOnceBackwardUnlessTheyAreThere) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const auto network = sharded_network(kCases[1], *collectives);
  const ShardedBlocks& blocks = blocks_of(*network);

  step(*network, 1);
  EXPECT_EQ(blocks.num_gathers(), 2 * 5 - 2);
  step(*network, 2);
  EXPECT_EQ(blocks.num_gathers(), 2 * 5 - 2 + 2 * 5 - 4);
  EXPECT_EQ(collectives->totals().at("all_gather").calls, blocks.num_gathers());
}

/// A rank that fails between two of its blocks still gathers what the others need.
TEST(ShardedBlocks, OfARankThatFailsServeTheOthers) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const auto whole = whole_network(kCases[0]), sharded = sharded_network(kCases[0], *collectives);
  whole->set_training(Mode::evaluate);
  sharded->set_training(Mode::evaluate);
  const at::Tensor tokens = batch().tokens;
  const bool fails = world().size() > 1 && world().rank() == 1;

  const auto passes = [&] {
    sharded->with_unequal_passes([&] {
      EXPECT_TRUE(at::equal(sharded->logits(tokens), whole->logits(tokens)));
      if (fails) {
        blocks_of(*sharded).before_forward(0);
        blocks_of(*sharded).before_forward(1);
        throw std::runtime_error("no");
      }
      for (int pass = 0; pass < 3; ++pass)
        EXPECT_TRUE(at::equal(sharded->logits(tokens), whole->logits(tokens)));
    });
  };

  if (fails) {
    EXPECT_THROW(passes(), std::runtime_error);
  } else {
    passes();
  }
  EXPECT_TRUE(at::equal(sharded->logits(tokens), whole->logits(tokens)));
}

TEST(ShardedBlocks, HoldAPartOfEachBlockAndTwoBlocks) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const auto whole = whole_network(kCases[0]), sharded = sharded_network(kCases[0], *collectives);
  std::int64_t all = 0;
  for (std::int64_t block = 0; block < 5; ++block)
    for (const NamedTensor& weight : sharded->block_weights(block))
      if (weight.tensor.dim() > 1) {
        all += static_cast<std::int64_t>(weight.tensor.nbytes());
        EXPECT_EQ(weight.tensor.storage().nbytes(), 0) << weight.name;
      }

  const std::int64_t bytes = blocks_of(*sharded).bytes();

  // Storages begin at multiples of kAlignment, and blocks end at one for each rank.
  const std::int64_t padding = 5 * (4 + world().size()) * static_cast<std::int64_t>(BorrowedMemory::kAlignment);
  EXPECT_LE(bytes, (all + padding) / world().size() + 2 * (all + padding) / 5);
  EXPECT_GE(bytes, all / world().size() + 2 * all / 5);
  EXPECT_EQ(sharded->weight_bytes(), whole->weight_bytes() - all + bytes);
}

/// Of weights in double precision that are multiplied in single: half of the bytes are gathered.
TEST(ShardedBlocks, AreGatheredInTheTypeOfProducts) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  NetworkPlan plan = plan_of(kCases[0]);
  std::int64_t gathered[2], buffers[2];
  for (const bool is_narrow : {false, true}) {
    if (is_narrow) plan.copies = at::kFloat;
    const auto before = bytes_gathered(*collectives);
    const ShardedNetwork made = load_sharded_network(plan, {collectives.get()}, ShardedBlocks::Leftovers::poisoned);
    made.network->set_compute_dtype(at::kFloat);
    const auto whole = test::whole_network(plan);
    whole->set_compute_dtype(at::kFloat);
    const at::Tensor tokens = batch().tokens;
    EXPECT_TRUE(at::equal(made.network->logits(tokens), whole->logits(tokens)));
    gathered[is_narrow ? 1 : 0] = bytes_gathered(*collectives) - before;
    const ShardSizes sizes(split_blocks_of(plan), world().size(), Gathered::while_computed);
    EXPECT_EQ(made.blocks->bytes(), sizes.bytes());
    EXPECT_EQ(sizes.row, (is_narrow ? 2 : 1) * sizes.buffers.front());
    buffers[is_narrow ? 1 : 0] = sizes.buffers.front();
  }
  EXPECT_LT(gathered[1], gathered[0] * 6 / 10);
  EXPECT_LT(buffers[1], buffers[0] * 6 / 10);
}

}  // namespace
}  // namespace multicard
