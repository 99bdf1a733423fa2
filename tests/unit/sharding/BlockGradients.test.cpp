// Gradients of blocks that are split over ranks, against those of networks that each rank holds.
#include "sharding/BlockGradients.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
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
  std::optional<at::ScalarType> copies = std::nullopt;
  bool is_fake_int4 = false, is_tied = false;
  Gathered gathered = Gathered::while_computed;
  Checkpointing checkpointing = Checkpointing::off;
  CommDtype comm_dtype = CommDtype::same;
  Ends ends = Ends::whole;
};

const Case kCases[] = {
    {"Double", at::kDouble, at::kDouble},
    {.name = "DoubleCheckpointed",
     .weights = at::kDouble,
     .compute = at::kDouble,
     .checkpointing = Checkpointing::per_layer},
    {.name = "Autocast", .weights = at::kFloat, .compute = at::kBFloat16, .checkpointing = Checkpointing::per_layer},
    {.name = "SentInBf16", .weights = at::kFloat, .compute = at::kFloat, .comm_dtype = CommDtype::bf16},
    {"BFloat16", at::kBFloat16, at::kBFloat16},
    {"GatheredInFloat", at::kDouble, at::kFloat, at::kFloat},
    {.name = "GatheredInFloatCheckpointed",
     .weights = at::kDouble,
     .compute = at::kFloat,
     .copies = at::kFloat,
     .checkpointing = Checkpointing::per_layer},
    {.name = "StayGathered", .weights = at::kDouble, .compute = at::kDouble, .gathered = Gathered::until_changed},
    {.name = "StayGatheredInFloat",
     .weights = at::kDouble,
     .compute = at::kFloat,
     .copies = at::kFloat,
     .gathered = Gathered::until_changed,
     .checkpointing = Checkpointing::per_layer},
    {"FakeInt4", at::kFloat, at::kFloat, std::nullopt, true},
    {.name = "Ends", .weights = at::kDouble, .compute = at::kDouble, .ends = Ends::split},
    {.name = "TiedEnds", .weights = at::kDouble, .compute = at::kDouble, .is_tied = true, .ends = Ends::split},
    {.name = "EndsGatheredInFloat",
     .weights = at::kDouble,
     .compute = at::kFloat,
     .copies = at::kFloat,
     .checkpointing = Checkpointing::per_layer,
     .ends = Ends::split},
    {.name = "TiedEndsGatheredInFloat",
     .weights = at::kDouble,
     .compute = at::kFloat,
     .copies = at::kFloat,
     .is_tied = true,
     .ends = Ends::split},
    {.name = "EndsStayGathered",
     .weights = at::kDouble,
     .compute = at::kFloat,
     .copies = at::kFloat,
     .gathered = Gathered::until_changed,
     .ends = Ends::split},
    {.name = "TiedEndsStayGathered",
     .weights = at::kFloat,
     .compute = at::kFloat,
     .is_tied = true,
     .gathered = Gathered::until_changed,
     .ends = Ends::split},
    {.name = "EndsInBFloat16", .weights = at::kBFloat16, .compute = at::kBFloat16, .ends = Ends::split},
    {.name = "FakeInt4AndEnds",
     .weights = at::kFloat,
     .compute = at::kBFloat16,
     .is_fake_int4 = true,
     .ends = Ends::split},
};

NetworkPlan plan_of(const Case& test) {
  WeightFormat format;
  if (test.is_fake_int4) {
    format.kind = WeightFormat::Kind::fake_int4;
    format.group_size = 8;
  }
  NetworkPlan plan = test::plan_of_five_blocks(test.weights, format);
  plan.copies = test.copies;
  plan.ends = test.ends;
  plan.config.has_tied_embeddings = test.is_tied;
  return plan;
}

std::unique_ptr<Llama> prepared(std::unique_ptr<Llama> network, const Case& test) {
  network->set_compute_dtype(test.compute);
  network->set_checkpointing(test.checkpointing);
  return network;
}

std::unique_ptr<Llama> whole_network(const Case& test) {
  return prepared(test::whole_network(plan_of(test)), test);
}

/// A network of which this rank holds parts.
struct Sharded {
  Sharded(const Case& test, TensorCollectives& collectives) {
    ShardedNetwork made =
        load_sharded_network(plan_of(test), {&collectives, nullptr, test.gathered}, ShardedBlocks::Leftovers::poisoned);
    network = prepared(std::move(made.network), test);
    blocks = std::move(made.blocks);
    blocks->train(test.comm_dtype);
  }

  std::unique_ptr<Llama> network;
  std::shared_ptr<ShardedBlocks> blocks;
};

/// Another one on each rank and in each pass.
test::TextBatchParts batch(int pass) {
  at::manual_seed(10 * pass + world().rank());
  return random_batch({{5, 9}, {13}}, 14, small_config().vocabulary_size);
}

void compute(Llama& network, int pass) {
  network.loss_sum(batch(pass).input()).backward();
}

/// Collective. What the ranks' gradients of a whole network's weight add up to.
at::Tensor summed(const at::Tensor& gradient, TensorCollectives& collectives, CommDtype comm_dtype) {
  at::Tensor flat = collectives.allocate_flat(gradient.numel(), gradient.scalar_type());
  flat.copy_(gradient.reshape({-1}));
  collectives.start_all_reduce(flat, {comm_dtype, {}})->wait();
  return flat;
}

at::Tensor named(const NamedTensors& tensors, const std::string& name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& one) { return one.name == name; });
  return found == tensors.end() ? at::Tensor() : found->tensor;
}

/// Collective. Of all weights of blocks, by their place in the rows.
void expect_sums_of(const Llama& whole, const Sharded& sharded, TensorCollectives& collectives, const Case& test) {
  std::int64_t block = 0;
  for (const ParameterRow& row : sharded.blocks->rows()) {
    std::size_t member = 0;
    for (const NamedTensor& weight : sharded.network->split_weights(block)) {
      if (weight.tensor.dim() < 2) continue;
      const at::Tensor sums = summed(named(whole.weights(), weight.name).grad(), collectives, test.comm_dtype);
      ASSERT_TRUE(row.members.at(member).first.is_same(weight.tensor));
      const ElementRange kept = row.kept_of(member);
      if (kept.count > 0) {
        const at::Tensor piece = row.piece_of(member, row.gradients);
        EXPECT_TRUE(at::equal(piece, sums.narrow(0, kept.first, kept.count))) << weight.name;
      }
      ++member;
    }
    EXPECT_EQ(member, row.members.size());
    ++block;
  }
  EXPECT_EQ(block, test.ends == Ends::whole ? 5 : test.is_tied ? 6 : 7);
}

class BlockGradientsOf : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<TensorCollectives> collectives_ = make_collectives(Backend::automatic, world(), at::kCPU);
  std::unique_ptr<Llama> whole_ = whole_network(GetParam());
  Sharded sharded_{GetParam(), *collectives_};
};

TEST_P(BlockGradientsOf, AreTheSumsOfWholeOnes) {
  for (int pass = 0; pass < 3; ++pass) {
    clear_gradients(*whole_);
    sharded_.blocks->zero_gradients();
    compute(*whole_, pass);
    compute(*sharded_.network, pass);
    sharded_.blocks->finish_gradients();

    expect_sums_of(*whole_, sharded_, *collectives_, GetParam());
  }
}

TEST_P(BlockGradientsOf, OfRanksWithoutRowsAreZero) {
  const bool is_idle = world().size() > 1 && world().rank() == world().size() - 1;
  clear_gradients(*whole_);
  compute(*whole_, 0);
  if (is_idle)
    for (const NamedTensor& weight : whole_->weights())
      at::Tensor(weight.tensor).mutable_grad().zero_();

  sharded_.blocks->zero_gradients();
  if (is_idle)
    sharded_.blocks->idle_loss().backward();
  else
    compute(*sharded_.network, 0);
  sharded_.blocks->finish_gradients();

  expect_sums_of(*whole_, sharded_, *collectives_, GetParam());
}

/// What is under way when a step begins is left out.
TEST_P(BlockGradientsOf, BeginAtZeroWhateverWasComputedBefore) {
  compute(*sharded_.network, 7);
  sharded_.blocks->zero_gradients();
  compute(*sharded_.network, 1);
  sharded_.blocks->finish_gradients();
  clear_gradients(*whole_);
  compute(*whole_, 1);

  expect_sums_of(*whole_, sharded_, *collectives_, GetParam());
}

TEST_P(BlockGradientsOf, ExistOnlyWhileBackwardIsInTheBlock) {
  compute(*sharded_.network, 0);

  for (const ParameterRow& row : sharded_.blocks->rows())
    for (const auto& [parameter, begin] : row.members)
      EXPECT_FALSE(parameter.grad().defined());
  sharded_.blocks->finish_gradients();
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Of, BlockGradientsOf, testing::ValuesIn(kCases), name_of);

TEST(ShardedBlocks, ThatStayAreGatheredOnceUntilTheirValuesChange) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  Case test = kCases[1];
  test.gathered = Gathered::until_changed;
  const Sharded sharded(test, *collectives);
  for (int pass = 0; pass < 3; ++pass)
    compute(*sharded.network, pass);
  EXPECT_EQ(sharded.blocks->num_gathers(), 5);
  sharded.blocks->finish_gradients();
  sharded.blocks->values_changed();
  compute(*sharded.network, 0);
  EXPECT_EQ(sharded.blocks->num_gathers(), 10);
  sharded.blocks->finish_gradients();
}

TEST(ShardedBlocks, AreGatheredWithTheValuesThatPartsHaveNow) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const auto whole = whole_network(kCases[0]);
  const Sharded sharded(kCases[0], *collectives);
  compute(*sharded.network, 0);
  sharded.blocks->finish_gradients();
  const std::int64_t before = sharded.blocks->num_gathers();
  {
    const at::NoGradGuard no_grad;
    for (const ParameterRow& row : sharded.blocks->rows())
      at::Tensor(row.values).mul_(2);
    for (std::int64_t block = 0; block < 5; ++block)
      for (const NamedTensor& weight : whole->block_weights(block))
        if (weight.tensor.dim() > 1) at::Tensor(weight.tensor).mul_(2);
  }

  sharded.blocks->values_changed();

  const at::Tensor tokens = batch(0).tokens;
  EXPECT_TRUE(at::equal(sharded.network->logits(tokens), whole->logits(tokens)));
  EXPECT_EQ(sharded.blocks->num_gathers(), before + 5);
}

}  // namespace
}  // namespace multicard
