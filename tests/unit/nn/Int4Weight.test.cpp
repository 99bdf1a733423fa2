// Layers of 8da4w: against torchao's (tests/data/oracles/qat/README.md), and packed against fake-quantised ones.

#include "nn/language/Int4Weight.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "kernels/FakeQuant.hpp"
#include "nn/language/LinearGroup.hpp"
#include "nn/language/Llama.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

constexpr std::int64_t kGroup = 32;

at::Tensor oracle(const std::string& name) {
  return TensorFile(test::source_path("tests/data/oracles/qat/tensors.safetensors").string()).load(name);
}

WeightFormat format(WeightFormat::Kind kind) {
  WeightFormat format;
  format.kind = kind;
  format.group_size = kGroup;
  return format;
}

const WeightFormat kFake = format(WeightFormat::Kind::fake_int4);

void fill(const NamedTensors& tensors) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& entry : tensors)
    at::Tensor(entry.tensor).copy_(at::randn(entry.tensor.sizes()) / 8);
}

TEST(Int4Weight, TrainedLayerIsTorchaos) {
  LinearGroup group(128, {{"q", 24, false}}, at::kFloat, kFake);
  const at::Tensor x = oracle("linear.input").view({21, 128}).clone().requires_grad_(true);
  const at::Tensor weight = group.weights()[0].tensor;
  {
    const at::NoGradGuard no_grad;
    at::Tensor(weight).copy_(oracle("linear.weight"));
  }

  const at::Tensor y = group.forward(x, {});
  y.backward(oracle("linear.upstream_grad").view({21, 24}));

  EXPECT_TRUE(at::allclose(y, oracle("linear.output").view({21, 24}), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(x.grad(), oracle("linear.input_grad").view({21, 128}), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(weight.grad(), oracle("linear.weight_grad"), 1e-5, 1e-5));
  EXPECT_EQ(weight.grad().eq(0).sum().item<std::int64_t>(),
            oracle("linear.weight_grad").eq(0).sum().item<std::int64_t>());
}

TEST(Int4Weight, WithoutFakeQuantisationTheLayerIsADenseOne) {
  LinearGroup faked(64, {{"q", 6, false}, {"v", 4, false}}, at::kFloat, kFake),
      dense(64, {{"q", 6, false}, {"v", 4, false}}, at::kFloat);
  fill(faked.weights());
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < 2; ++i)
    at::Tensor(dense.weights()[i].tensor).copy_(faked.weights()[i].tensor);
  const at::Tensor x = at::randn({5, 64});

  const at::Tensor on = faked.forward(x, {});
  faked.set_fake_quantisation(FakeQuantisation::off);

  EXPECT_TRUE(at::equal(faked.forward(x, {}), dense.forward(x, {})));
  EXPECT_GT((on - dense.forward(x, {})).abs().max().item<double>(), 1e-3);
}

/// What torchtune's QAT-LoRA computes: the base of rounded weights and activations, adapters of x as it is.
TEST(Int4Weight, AdaptersTakeActivationsThatAreNotRounded) {
  LinearGroup group(64, {{"q", 6, false}, {"v", 4, false}}, at::kFloat, kFake);
  fill(group.weights());
  AdapterOptions adapters;
  adapters.settings.rank = 3;
  adapters.settings.alpha = 6;
  group.add_adapters(adapters, {"q", "v"});
  fill(group.adapters());
  const at::Tensor x = at::randn({5, 64}).requires_grad_(true), dy = at::randn({5, 10});

  const at::Tensor y = group.forward(x, {});
  y.backward(dy);

  const at::Tensor w =
      fake_int4(at::cat({group.weights()[0].tensor, group.weights()[1].tensor}).detach(), kGroup, at::kFloat);
  const at::Tensor z = x.detach().clone().requires_grad_(true);
  std::vector<at::Tensor> leaves;
  for (const NamedTensor& entry : group.adapters())
    leaves.push_back(entry.tensor.detach().clone().requires_grad_(true));
  const auto low_rank = [&](std::size_t layer) {
    return z.matmul(leaves[2 * layer].t()).matmul(leaves[2 * layer + 1].t()) * 2;
  };
  const at::Tensor expected = at::cat({low_rank(0), low_rank(1)}, 1);
  expected.backward(dy);
  const at::Tensor through_base = dy.matmul(w);
  fake_int8_gradient(x.detach(), through_base);
  EXPECT_TRUE(at::allclose(y, expected + fake_int8(x.detach()).matmul(w.t()), 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(x.grad(), z.grad() + through_base, 1e-5, 1e-5));
  for (std::size_t i = 0; i < leaves.size(); ++i)
    EXPECT_TRUE(at::allclose(group.adapters()[i].tensor.grad(), leaves[i].grad(), 1e-5, 1e-5)) << i;
}

TEST(Int4Weight, PackedLayersComputeWhatFakeQuantisedOnesDo) {
  for (const std::int64_t rows : {10, 9000}) {  // the latter in parts
    LinearGroup faked(1024, {{"q", rows, false}, {"v", 4, false}}, at::kFloat, kFake);
    LinearGroup packed(1024, {{"q", rows, false}, {"v", 4, false}}, at::kFloat, format(WeightFormat::Kind::int4));
    fill(faked.weights());
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < 2; ++i)
      packed.sinks()[i].fill(faked.weights()[i].tensor);
    const at::Tensor x = at::randn({5, 1024});

    const at::Tensor expected = faked.forward(x, {}), found = packed.forward(x, {});

    EXPECT_TRUE(at::allclose(found, expected, 1e-6, 1e-5)) << (found - expected).abs().max();
    EXPECT_TRUE(packed.weights().empty());
    EXPECT_EQ(packed.quantised_bytes(), (rows + 4) * (1024 / 2 + 1024 / kGroup * 4));
  }
}

TEST(Int4Weight, TakesWhatTorchaoStored) {
  Int4Weight weight(128, {128}, kGroup, at::kCPU), filled(128, {128}, kGroup, at::kCPU);
  const StoredInt4 stored{oracle("converted.int4_as_int8"), oracle("converted.scales"), oracle("converted.zeros"),
                          "folder: q"};

  weight.take(0, stored);

  filled.fill(0, oracle("converted.trained_weight"));
  EXPECT_TRUE(at::equal(weight.layers()[0].packed, filled.layers()[0].packed));
  EXPECT_TRUE(at::equal(weight.layers()[0].scales, filled.layers()[0].scales));
  Int4Weight other_size(128, {128}, 64, at::kCPU), other_shape(64, {256}, kGroup, at::kCPU);
  Nf4Weight other_kind(128, {{128}}, DoubleQuantisation::off, at::kCPU);
  EXPECT_THROW(other_size.take(0, stored), DataError);
  EXPECT_THROW(other_shape.take(0, stored), DataError);
  EXPECT_THROW(other_kind.take(0, stored), DataError);
  EXPECT_THROW(weight.take(0, StoredNf4{}), DataError);
  EXPECT_THROW(weight.take(0, StoredInt4{stored.codes * 3, stored.scales, stored.zeros, "folder: q"}), DataError);
}

std::string refusal(std::int64_t group_size, const std::vector<GroupedLayer>& layers) {
  try {
    check_group_size(group_size, layers);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Int4Weight, GroupSizesThatDoNotFitAreRefusedWithThoseThatDo) {
  const std::vector<GroupedLayer> layers{{"q", 576}, {"down", 1536}};

  EXPECT_EQ(refusal(192, layers), "");
  EXPECT_EQ(refusal(2, layers), "");
  const std::string message = refusal(256, layers);
  EXPECT_NE(message.find("q has 576 inputs"), std::string::npos) << message;
  EXPECT_NE(message.find("one of 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 192."), std::string::npos) << message;
  EXPECT_NE(refusal(288, layers).find("down has 1536 inputs"), std::string::npos) << "fits the first layer alone";
  EXPECT_NE(refusal(3, layers).find("must be even"), std::string::npos);
}

TEST(Int4Weight, NetworksRefuseGroupSizesBeforeTheyTakeMemory) {
  LlamaConfig config = LlamaConfig::read(test::source_path("tests/data/models/tinystories-656K").string());
  WeightFormat large = kFake;
  large.group_size = 256;

  EXPECT_THROW(Llama(config, at::kFloat, at::kMeta, large), UsageError);
  EXPECT_NO_THROW(Llama(config, at::kFloat, at::kMeta, kFake));
}

}  // namespace
}  // namespace multicard
