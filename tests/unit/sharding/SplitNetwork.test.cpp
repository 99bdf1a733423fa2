// Networks of images whose convolutions are gathered when they compute, against networks that hold them.
#include "sharding/SplitNetwork.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "device/Precision.hpp"
#include "nn/losses/Losses.hpp"
#include "nn/vision/NetworkFactory.hpp"
#include "support/test_world.hpp"
#include "unit/nn/formula.hpp"

namespace multicard {
namespace {

using test::world;

constexpr auto kNhwc = at::MemoryFormat::ChannelsLast, kNchw = at::MemoryFormat::Contiguous;

struct Case {
  const char* name;
  const char* network;
  at::MemoryFormat layout;
  Precision precision = Precision::fp64;
  std::vector<std::string> frozen = {};
};

// Of ResNet's weights the 3x3 ones have another order in memory than in files.
const Case kCases[] = {
    {"MobileNetNhwc", "mobilenet_v2", kNhwc},
    {"MobileNetAutocast", "mobilenet_v2", kNchw, Precision::bf16},
    {"MobileNetHalf", "mobilenet_v2", kNhwc, Precision::fp16},
    {"MobileNetUpperBlocks", "mobilenet_v2", kNhwc, Precision::fp32, {"features.?.*", "features.1[0-5].*"}},
    {"ResNetNhwc", "resnet18", kNhwc, Precision::fp32},
    {"ResNetFrozenHere",
     "resnet18",
     kNchw,
     Precision::fp32,
     {"conv1*", "bn1*", "layer1.0.*", "layer2.0.downsample.0*"}},
    {"EfficientNetNhwc", "efficientnet_b0", kNhwc},
};

std::unique_ptr<Network> made(const Case& test) {
  NetworkOptions options{.classes = test::kFormulaClasses};
  if (std::string(test.network) == "mobilenet_v2") options.width = 0.25;
  auto network = make_network(test.network, options);
  network->to(at::kCPU, master_type(test.precision), test.layout);
  network->freeze(test.frozen);
  return network;
}

/// One network that each rank holds, and one that is split.
struct Pair {
  explicit Pair(const Case& made_of) : test(made_of) { blocks->train(CommDtype::same); }

  at::Tensor logits(Network& network, int pass) const {
    // Of this rank in a pass, which other ranks do not have.
    const at::Tensor images = test::formula_images() * (1 + 0.1 * pass + 0.01 * world().rank());
    const Autocast autocast(test.precision, at::kCPU);
    return network.forward(images.to(master_type(test.precision)).contiguous(test.layout));
  }
  /// The loss of a step; the network has gradients then.
  at::Tensor step(Network& network, int pass) const {
    network.set_dropout_seed(static_cast<std::uint64_t>(pass));
    for (const NamedTensor& parameter : network.parameters())
      at::Tensor(parameter.tensor).mutable_grad().reset();
    const at::Tensor loss = cross_entropy(logits(network, pass), test::formula_labels(), 4 * world().size());
    loss.backward();
    return loss.detach();
  }
  at::Tensor evaluated(Network& network) const {
    const at::NoGradGuard no_grad;
    network.set_training(Mode::evaluate);
    at::Tensor found = logits(network, 0);
    network.set_training(Mode::train);
    return found;
  }

  const Case& test;
  std::unique_ptr<TensorCollectives> collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  std::unique_ptr<Network> whole = made(test), split = made(test);
  std::shared_ptr<ShardedBlocks> blocks =
      split_network(*split, {collectives.get()}, ShardedBlocks::Leftovers::poisoned);
};

using Named = std::map<std::string, at::Tensor>;

Named by_name(const NamedTensors& tensors) {
  Named named;
  for (const auto& [name, tensor] : tensors)
    named[name] = tensor;
  return named;
}

/// Of what each rank has whole.
void expect_same_gradients(const Pair& pair) {
  const std::set<const at::TensorImpl*> in_parts = members_of(pair.blocks->rows());
  const Named wanted = by_name(pair.whole->parameters());
  for (const auto& [name, tensor] : pair.split->parameters())
    if (in_parts.contains(tensor.unsafeGetTensorImpl()))
      EXPECT_FALSE(tensor.grad().defined()) << name;
    else
      EXPECT_TRUE(at::equal(tensor.grad(), wanted.at(name).grad())) << name;
  const NamedTensors &got = pair.split->buffers(), &moved = pair.whole->buffers();
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(at::equal(got[i].tensor, moved[i].tensor)) << got[i].name;
}

/// Collective. What ranks have of the sums over them of the whole network's gradients, in the order of memory.
void expect_sums(const Pair& pair) {
  std::map<const at::TensorImpl*, std::string> names;
  for (const auto& [name, tensor] : pair.split->parameters())
    names[tensor.unsafeGetTensorImpl()] = name;
  const Named wanted = by_name(pair.whole->parameters());
  for (const ParameterRow& row : pair.blocks->rows())
    for (std::size_t member = 0; member < row.members.size(); ++member) {
      const at::Tensor& parameter = row.members[member].first;
      const std::string& name = names.at(parameter.unsafeGetTensorImpl());
      at::Tensor sums = pair.collectives->allocate_flat(parameter.numel(), parameter.scalar_type());
      sums.copy_(in_memory_order(wanted.at(name).grad(), parameter));
      pair.collectives->start_all_reduce(sums, {CommDtype::same, {}})->wait();
      const ElementRange kept = row.kept_of(member);
      const bool has_piece = kept.count > 0;
      EXPECT_TRUE(!has_piece || at::equal(row.piece_of(member, row.gradients), sums.narrow(0, kept.first, kept.count)))
          << name;
    }
}

class SplitNetworkOf : public testing::TestWithParam<Case> {};

TEST_P(SplitNetworkOf, HasTheBitsOfAWholeOne) {
  const Pair pair(GetParam());
  for (int pass = 0; pass < 2; ++pass) {
    pair.blocks->zero_gradients();

    const at::Tensor loss = pair.step(*pair.split, pass);
    pair.blocks->finish_gradients();

    EXPECT_TRUE(at::equal(loss, pair.step(*pair.whole, pass)));
    expect_same_gradients(pair);
    expect_sums(pair);
  }
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Of, SplitNetworkOf, testing::ValuesIn(kCases), name_of);

TEST(SplitNetwork, IsGatheredForOthersByRanksThatHaveNothingToCompute) {
  const Pair pair(kCases[0]);
  const bool is_idle = world().size() > 1 && world().rank() == world().size() - 1;
  pair.step(*pair.whole, 0);
  for (const NamedTensor& parameter : pair.whole->parameters())
    if (is_idle) at::Tensor(parameter.tensor).mutable_grad().zero_();

  pair.blocks->zero_gradients();
  if (is_idle)
    pair.blocks->idle_loss().backward();
  else
    pair.step(*pair.split, 0);
  pair.blocks->finish_gradients();

  expect_sums(pair);
}

TEST(SplitNetwork, IsEvaluatedByRanksThatMakeDifferentNumbersOfPasses) {
  const Pair pair(kCases[0]);

  with_unequal_passes(pair.split->block_hooks(), [&] {
    for (int pass = 0; pass <= world().rank(); ++pass)
      EXPECT_TRUE(at::equal(pair.evaluated(*pair.split), pair.evaluated(*pair.whole)));
  });
}

TEST(SplitNetwork, TakesValuesInTheOrderOfFiles) {
  const at::NoGradGuard no_grad;
  const Pair pair(kCases[4]);
  const std::set<const at::TensorImpl*> in_parts = members_of(pair.blocks->rows());
  const Named wanted = by_name(pair.whole->parameters());
  std::map<const at::TensorImpl*, at::Tensor> values;
  for (const auto& [name, tensor] : pair.split->parameters()) {
    if (!in_parts.contains(tensor.unsafeGetTensorImpl())) continue;
    at::Tensor(wanted.at(name)).mul_(1.25);
    values[tensor.unsafeGetTensorImpl()] = wanted.at(name).contiguous();
  }

  copy_into(*pair.blocks, [&](const at::Tensor& parameter) { return values.at(parameter.unsafeGetTensorImpl()); });

  EXPECT_TRUE(at::equal(pair.evaluated(*pair.split), pair.evaluated(*pair.whole)));
}

TEST(SplitNetwork, HoldsAPartOfEachBlockAndTwoBlocks) {
  const Pair pair(kCases[0]);
  std::int64_t all = 0;
  for (const std::vector<at::Tensor>& block : pair.split->block_weights())
    for (const at::Tensor& weight : block) {
      EXPECT_EQ(weight.storage().nbytes(), 0);
      all += static_cast<std::int64_t>(weight.nbytes());
    }
  std::vector<SplitBlock> memories;
  for (const std::vector<at::Tensor>& block : pair.whole->block_weights())
    memories.emplace_back(block);

  EXPECT_EQ(pair.blocks->whole_bytes(), all);
  EXPECT_EQ(pair.blocks->bytes(), ShardSizes(memories, world().size(), Gathered::while_computed).bytes());
}

}  // namespace
}  // namespace multicard
