// Networks whose frozen blocks are gathered when they compute, against networks that hold them.
#include "sharding/ShardedBlocks.hpp"

#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "support/test_world.hpp"
#include "unit/nn/language_models.hpp"

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
};

constexpr Case kCases[] = {
    {"Double", at::kDouble, at::kDouble, false, Checkpointing::off},
    {"DoubleCheckpointed", at::kDouble, at::kDouble, false, Checkpointing::per_layer},
    {"BFloat16", at::kBFloat16, at::kBFloat16, false, Checkpointing::off},
    {"Autocast", at::kFloat, at::kBFloat16, false, Checkpointing::per_layer},
    {"Nf4", at::kBFloat16, at::kBFloat16, true, Checkpointing::off},
    {"Nf4Checkpointed", at::kFloat, at::kFloat, true, Checkpointing::per_layer},
};

/// With five blocks, adapters that are not zero, and dropout.
std::unique_ptr<Llama> network_of(const Case& test) {
  LlamaConfig config = small_config();
  config.num_layers = 5;
  WeightFormat format;
  if (test.is_nf4) format.kind = WeightFormat::Kind::nf4;
  auto network = std::make_unique<Llama>(config, test.weights, at::kCPU, format);
  network->initialise(5);
  network->add_adapters({.settings = {.rank = 4, .alpha = 8, .dropout = 0.1},
                         .dtype = test.weights == at::kDouble ? at::kDouble : at::kFloat});
  test::fill_adapters(*network);
  network->set_compute_dtype(test.compute);
  network->set_checkpointing(test.checkpointing);
  return network;
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
  const auto whole = network_of(GetParam()), sharded = network_of(GetParam());
  ShardedBlocks blocks(sharded->frozen_matrices(), *collectives_, ShardedBlocks::Leftovers::poisoned);
  sharded->set_block_hooks(&blocks);

  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    expect_same(step(*sharded, seed), step(*whole, seed));
  whole->set_training(Mode::evaluate);
  sharded->set_training(Mode::evaluate);
  const at::Tensor tokens = batch().tokens;
  EXPECT_TRUE(at::equal(sharded->logits(tokens), whole->logits(tokens)));
  expect_same(step(*sharded, 4), step(*whole, 4));
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Of, ShardedBlocksOf, testing::ValuesIn(kCases), name_of);

TEST(ShardedBlocks, AreGatheredOnceForwardAndOnceBackwardUnlessTheyAreThere) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const auto network = network_of(kCases[1]);
  ShardedBlocks blocks(network->frozen_matrices(), *collectives);
  network->set_block_hooks(&blocks);

  step(*network, 1);
  EXPECT_EQ(blocks.num_gathers(), 2 * 5 - 2);
  step(*network, 2);
  EXPECT_EQ(blocks.num_gathers(), 2 * 5 - 2 + 2 * 5 - 4);
  EXPECT_EQ(collectives->totals().at("all_gather").calls, blocks.num_gathers());
}

TEST(ShardedBlocks, AreGatheredForOthersByRanksThatHaveNothingToCompute) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const auto whole = network_of(kCases[0]), sharded = network_of(kCases[0]);
  ShardedBlocks blocks(sharded->frozen_matrices(), *collectives, ShardedBlocks::Leftovers::poisoned);
  sharded->set_block_hooks(&blocks);

  for (int turn = 0; turn < 4; ++turn)
    if (turn % world().size() != world().rank() || world().size() == 1) {
      expect_same(step(*sharded, 1), step(*whole, 1));
    } else {
      blocks.idle_forward();
      blocks.idle_backward();
    }
}

TEST(ShardedBlocks, HoldAPartOfEachBlockAndTwoBlocks) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const auto network = network_of(kCases[0]);
  std::int64_t all = 0;
  for (const std::vector<at::Tensor>& tensors : network->frozen_matrices())
    for (const at::Tensor& tensor : tensors)
      all += static_cast<std::int64_t>(tensor.nbytes());

  const ShardedBlocks blocks(network->frozen_matrices(), *collectives);

  // Storages begin at whole kilobytes, and blocks end at one for each rank.
  const std::int64_t padding = 5 * (4 + world().size()) * 1024;
  EXPECT_LE(blocks.bytes(), (all + padding) / world().size() + 2 * (all + padding) / 5);
  EXPECT_GE(blocks.bytes(), all / world().size() + 2 * all / 5);
  for (const std::vector<at::Tensor>& tensors : network->frozen_matrices())
    for (const at::Tensor& tensor : tensors)
      EXPECT_EQ(tensor.storage().nbytes(), 0);
}

}  // namespace
}  // namespace multicard
