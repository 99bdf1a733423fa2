// Networks whose embedding and output layer are split along with their blocks.
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "five_blocks.hpp"
#include "sharding/ShardedNetwork.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::random_batch;
using test::small_config;
using test::world;

enum class Tied { no, yes };

std::string text_of(Tied tied) {
  return tied == Tied::yes ? "tied" : "untied";
}

NetworkPlan plan_of(Tied tied) {
  NetworkPlan plan = test::plan_of_five_blocks(at::kDouble);
  plan.config.has_tied_embeddings = tied == Tied::yes;
  plan.ends = Ends::split;
  return plan;
}

/// A network that each rank holds, and one that is split.
struct Pair {
  explicit Pair(const NetworkPlan& plan, Gathered gathered = Gathered::while_computed)
      : whole(test::whole_network(plan)),
        split(load_sharded_network(plan, {collectives.get(), nullptr, gathered}, ShardedBlocks::Leftovers::poisoned)) {
    if (!plan.copies) return;
    whole->set_compute_dtype(*plan.copies);
    split.network->set_compute_dtype(*plan.copies);
  }

  std::unique_ptr<TensorCollectives> collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  std::unique_ptr<Llama> whole;
  ShardedNetwork split;
};

test::TextBatchParts batch() {
  at::manual_seed(3);
  return random_batch({{5, 9}, {13}, {3, 4, 7}}, 14, small_config().vocabulary_size);
}

void compute(const ShardedNetwork& split) {
  split.network->loss_sum(batch().input()).backward();
}

/// Of a step of five layers: five in the first pass and three in backward, of which the next step finds two in place.
TEST(SplitEnds, AreGatheredOnceForwardAndNotInBackward) {
  for (const Tied tied : {Tied::no, Tied::yes}) {
    const Pair pair(plan_of(tied));
    pair.split.blocks->train(CommDtype::same);
    const std::int64_t ends = tied == Tied::yes ? 1 : 2, later_ends = tied == Tied::yes ? 0 : 2;

    compute(pair.split);
    EXPECT_EQ(pair.split.blocks->num_gathers(), 8 + ends) << text_of(tied);
    compute(pair.split);
    EXPECT_EQ(pair.split.blocks->num_gathers(), 8 + ends + 6 + later_ends) << text_of(tied);
    pair.split.blocks->finish_gradients();
    pair.split.blocks->values_changed();
    compute(pair.split);
    EXPECT_EQ(pair.split.blocks->num_gathers(), 2 * (8 + ends) + 6 + later_ends) << text_of(tied);
    pair.split.blocks->finish_gradients();
  }
}

TEST(SplitEnds, ThatStayAreGatheredOnceUntilTheirValuesChange) {
  for (const Tied tied : {Tied::no, Tied::yes}) {
    const Pair pair(plan_of(tied), Gathered::until_changed);
    pair.split.blocks->train(CommDtype::same);
    const std::int64_t blocks = tied == Tied::yes ? 6 : 7;

    compute(pair.split);
    compute(pair.split);
    EXPECT_EQ(pair.split.blocks->num_gathers(), blocks) << text_of(tied);
    pair.split.blocks->finish_gradients();
    pair.split.blocks->values_changed();
    compute(pair.split);
    EXPECT_EQ(pair.split.blocks->num_gathers(), 2 * blocks) << text_of(tied);
    pair.split.blocks->finish_gradients();
  }
}

TEST(SplitEnds, AreSummedOnceInAPass) {
  for (const Tied tied : {Tied::no, Tied::yes}) {
    const Pair pair(plan_of(tied));
    pair.split.blocks->train(CommDtype::same);

    compute(pair.split);
    pair.split.blocks->finish_gradients();

    EXPECT_EQ(pair.collectives->totals().at("reduce_scatter").calls, tied == Tied::yes ? 6 : 7) << text_of(tied);
  }
}

/// Rounded up by storages, which begin at multiples of kAlignment, and rows, which end at one for each rank.
std::int64_t rounded(std::int64_t bytes) {
  const auto ranks = static_cast<std::int64_t>(world().size() * BorrowedMemory::kAlignment);
  return (bytes + ranks - 1) / ranks * ranks;
}

TEST(SplitEnds, ShareABuffer) {
  const std::int64_t end = rounded(37 * 24 * 8);
  for (const Tied tied : {Tied::no, Tied::yes}) {
    const NetworkPlan plan = plan_of(tied);
    NetworkPlan of_layers = plan;
    of_layers.ends = Ends::whole;
    const std::int64_t num_ends = tied == Tied::yes ? 1 : 2;

    const ShardSizes all(split_blocks_of(plan), world().size(), Gathered::while_computed);
    const ShardSizes layers(split_blocks_of(of_layers), world().size(), Gathered::while_computed);

    EXPECT_EQ(all.buffers.size(), 3);
    EXPECT_EQ(all.bytes() - layers.bytes(), end + num_ends * end / world().size()) << text_of(tied);
    EXPECT_EQ(all.whole_bytes - layers.whole_bytes, num_ends * 37 * 24 * 8) << text_of(tied);
    EXPECT_EQ(all.spared_gradient_bytes() - layers.spared_gradient_bytes(),
              num_ends * 37 * 24 * 8 - (end + num_ends * end / world().size()))
        << text_of(tied);
    const Pair pair(plan);
    EXPECT_EQ(pair.split.blocks->bytes(), all.bytes()) << text_of(tied);
    EXPECT_EQ(pair.split.network->weight_bytes(), pair.whole->weight_bytes() - all.spared_bytes()) << text_of(tied);
  }
}

TEST(SplitEnds, HaveNoMemoryUnlessTheyCompute) {
  for (const Tied tied : {Tied::no, Tied::yes}) {
    const Pair pair(plan_of(tied));
    pair.split.blocks->train(CommDtype::same);
    compute(pair.split);
    pair.split.blocks->finish_gradients();

    for (const NamedTensor& weight : pair.split.network->weights())
      EXPECT_EQ(weight.tensor.storage().nbytes() == 0, weight.tensor.dim() > 1) << weight.name;
  }
}

/// Of equal passes of all ranks.
void expect_sums_of_ends(const Pair& pair, Tied tied) {
  const std::vector<ParameterRow> rows = pair.split.blocks->rows();
  const NamedTensors& weights = pair.whole->weights();
  const auto expect_sum = [&](const ParameterRow& row, const at::Tensor& gradient) {
    const ElementRange kept = row.kept_of(0);
    if (kept.count == 0) return;
    const at::Tensor wanted = gradient.reshape({-1}).narrow(0, kept.first, kept.count) * world().size();
    EXPECT_TRUE(at::allclose(row.piece_of(0, row.gradients), wanted, 1e-14)) << text_of(tied);
  };
  expect_sum(rows.front(), weights.front().tensor.grad());
  if (tied == Tied::no) expect_sum(rows.back(), weights.back().tensor.grad());
}

/// Of preference pairs, whose sequences have different gradients.
TEST(SplitEnds, HaveTheGradientOfSequences) {
  for (const Tied tied : {Tied::no, Tied::yes})
    for (const bool is_narrow : {false, true}) {
      NetworkPlan plan = plan_of(tied);
      if (is_narrow) plan.copies = at::kFloat;
      const Pair pair(plan);
      pair.split.blocks->train(CommDtype::same);
      const test::TextBatchParts parts = batch();
      const at::Tensor factors = at::arange(1, 7, at::kDouble);
      for (Llama* network : {pair.whole.get(), pair.split.network.get()})
        (network->sequence_losses(parts.input()).sums * factors).sum().backward();
      pair.split.blocks->finish_gradients();

      expect_sums_of_ends(pair, tied);
    }
}

TEST(SplitEnds, HaveNothingOfAForwardPassWithoutBackward) {
  for (const Tied tied : {Tied::no, Tied::yes}) {
    const Pair pair(plan_of(tied));
    pair.split.blocks->train(CommDtype::same);
    pair.split.network->loss_sum(batch().input());
    compute(pair.split);
    pair.split.blocks->finish_gradients();
    pair.whole->loss_sum(batch().input()).backward();

    expect_sums_of_ends(pair, tied);

    pair.split.network->loss_sum(batch().input());
    pair.split.blocks->zero_gradients();
    for (const NamedTensor& weight : pair.split.network->weights())
      EXPECT_TRUE(weight.tensor.dim() == 1 || !weight.tensor.grad().defined()) << weight.name;
  }
}

/// Ranks that make different numbers of passes, one of which fails in the middle of one.
TEST(SplitEnds, OfARankThatFailsServeTheOthers) {
  for (const Tied tied : {Tied::no, Tied::yes}) {
    const Pair pair(plan_of(tied));
    Llama &whole = *pair.whole, &split = *pair.split.network;
    whole.set_training(Mode::evaluate);
    split.set_training(Mode::evaluate);
    const at::Tensor tokens = batch().tokens;
    const bool fails = world().size() > 1 && world().rank() == 1;
    const auto passes = [&] {
      split.with_unequal_passes([&] {
        EXPECT_TRUE(at::equal(split.logits(tokens), whole.logits(tokens))) << text_of(tied);
        if (fails) {
          for (std::int64_t turn = 0; turn < 3; ++turn)
            pair.split.blocks->before_forward(turn);
          throw std::runtime_error("no");
        }
        for (int pass = 0; pass < world().rank() + 2; ++pass)
          EXPECT_TRUE(at::equal(split.logits(tokens), whole.logits(tokens))) << text_of(tied);
      });
    };

    if (fails)
      EXPECT_THROW(passes(), std::runtime_error);
    else
      passes();
    EXPECT_TRUE(at::equal(split.logits(tokens), whole.logits(tokens))) << text_of(tied);
  }
}

TEST(SplitEnds, AreOfNetworksWithoutAdapters) {
  const Pair pair(plan_of(Tied::no));

  EXPECT_THROW(pair.split.network->add_adapters({.settings = {.rank = 4, .alpha = 8, .targets = {"all-linear"}}}),
               std::logic_error);
}

}  // namespace
}  // namespace multicard
