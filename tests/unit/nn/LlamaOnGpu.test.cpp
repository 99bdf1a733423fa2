// Language models on a GPU against the CPU's float64. Skipped without a GPU.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include "device/Device.hpp"
#include "kernels/AttentionKernel.hpp"
#include "language_models.hpp"
#include "nn/language/RmsNorm.hpp"
#include "nn/language/Rope.hpp"
#include "nn/language/SwiGlu.hpp"
#include "nn/losses/TokenLoss.hpp"
#include "support/no_waiting.hpp"
#include "unit/kernels/token_results.hpp"

namespace multicard {
namespace {

using test::Results;

const std::vector<std::int64_t> kSizes{5,   16,   83,
                                       136, 4104, 20000};  // beyond what a block keeps, with and without a rest

class LlamaOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (visible_gpus().empty()) GTEST_SKIP() << "no GPU";
    device_ = choose_device(DeviceRequest::cuda, ShareGpu::yes, test::world(), find_topology(test::world())).device;
  }

  at::Device device_ = at::kCPU;
};

TEST_F(LlamaOnGpu, AddsAndNormalises) {
  test::expect_near(
      kSizes, device_,
      [](std::int64_t size) {
        return Results{at::randn({137, size}, at::kDouble), at::randn({137, size}, at::kDouble) * 2,
                       at::randn({size}, at::kDouble)};
      },
      [](const Results& in, Kernels kernels) {
        const Normed result = add_rms_norm(in[0], in[1], in[2], 1e-5, kernels);
        return Results{result.stream, result.normed};
      });
}

TEST_F(LlamaOnGpu, NormalisesAlone) {
  test::expect_near(
      kSizes, device_,
      [](std::int64_t size) {
        return Results{at::randn({21, size}, at::kDouble), at::randn({size}, at::kDouble)};
      },
      [](const Results& in, Kernels kernels) { return Results{add_rms_norm(in[0], {}, in[1], 1e-5, kernels).normed}; });
}

TEST_F(LlamaOnGpu, Gates) {
  test::expect_near(
      kSizes, device_,
      [](std::int64_t size) {
        return Results{at::randn({37, 2 * size}, at::kDouble) * 4};
      },
      [](const Results& in, Kernels kernels) { return Results{swiglu(in[0], kernels)}; });
}

TEST_F(LlamaOnGpu, Turns) {
  for (const std::int64_t head_dim : {6, 64, 128})
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
      LlamaConfig config;
      config.head_dim = head_dim;
      const RopeTable table = rope_table(config, 50, at::kFloat, at::kCPU);
      const at::Tensor row = at::randn({50, 5 * head_dim}).to(dtype), there = row.to(device_);
      const auto heads = [&](const at::Tensor& x) { return x.narrow(1, 0, 4 * head_dim).unflatten(1, {4, head_dim}); };
      for (const Rotation rotation : {Rotation::forward, Rotation::inverse}) {
        rotate(heads(row), table, rotation, Kernels::aten);
        rotate(heads(there), {table.cos.to(device_), table.sin.to(device_)}, rotation);
        EXPECT_LT(test::distance(there, row.to(at::kDouble)), dtype == at::kFloat ? 1e-6 : 1e-2) << head_dim;
      }
    }
}

TEST_F(LlamaOnGpu, ContinuesASequenceAsTheCpuDoes) {
  constexpr std::int64_t kTokens = 300;
  const auto random = [](std::int64_t heads) { return at::randn({kTokens, heads, 64}, at::kDouble); };
  const AttentionInputs all{random(6), random(2), random(2)};
  for (const test::TokenType& type : test::kTokenTypes)
    for (const std::int64_t window : {0, 40})
      for (const std::int64_t count : {std::int64_t{1}, std::int64_t{70}, kTokens}) {
        const auto part = [&](at::Device device, at::ScalarType dtype) {
          const auto moved = [&](const at::Tensor& x) { return x.to(type.dtype).to(device, dtype); };
          return AttentionInputs{moved(all.q.narrow(0, kTokens - count, count)), moved(all.k), moved(all.v)};
        };
        const at::Tensor expected = continued_attention(part(at::kCPU, at::kDouble), window);
        const at::Tensor found = continued_attention(part(device_, type.dtype), window);
        EXPECT_LT(test::distance(found, expected), type.tolerance) << c10::toString(type.dtype) << " " << count;
      }
}

TEST_F(LlamaOnGpu, HasTheLossOfAllLogits) {
  for (const std::int64_t vocabulary : {997, 131072})
    for (const test::TokenType& type : test::kTokenTypes) {
      const at::Tensor hidden = at::randn({1500, 8}, at::kDouble).to(type.dtype);
      const at::Tensor weight = at::randn({vocabulary, 8}, at::kDouble).to(type.dtype);
      const at::Tensor tokens = at::randint(vocabulary, {1500}, at::kLong);
      tokens[3] = -100;
      const auto loss_of = [&](at::Device device, at::ScalarType dtype) {
        const at::Tensor leaf = hidden.to(device, dtype).detach().requires_grad_(true);
        const at::Tensor other = weight.to(device, dtype).detach().requires_grad_(true);
        const at::Tensor loss = token_loss(leaf, other, token_targets(tokens.to(device), 1499));
        loss.backward();
        return Results{loss.detach(), leaf.grad(), other.grad()};
      };
      const Results expected = loss_of(at::kCPU, at::kDouble), found = loss_of(device_, type.dtype);
      EXPECT_NEAR(found[0].item<double>() / expected[0].item<double>(), 1.0, 10 * type.tolerance) << vocabulary;
      EXPECT_LT(test::distance(found[1], expected[1]), 10 * type.tolerance) << vocabulary;
      EXPECT_LT(test::distance(found[2], expected[2]), 10 * type.tolerance) << vocabulary;
    }
}

TEST_F(LlamaOnGpu, DropsTheValuesThatTheCpuDrops) {
  for (const test::TokenType& type : test::kTokenTypes)
    for (const std::int64_t size : {7, 1024, 1000003}) {
      const at::Tensor x = at::randn({size}).to(type.dtype);
      const at::Tensor there = seeded_dropout(x.to(device_), 0.3, 11), here = seeded_dropout(x, 0.3, 11);
      EXPECT_TRUE(there.cpu().ne(0).equal(here.ne(0))) << size;
      EXPECT_LT(test::distance(there, here.to(at::kDouble)), type.tolerance) << size;
    }
}

TEST_F(LlamaOnGpu, DrawsTheWeightsOfTheCpu) {
  const auto here = test::small_network();
  Llama there(test::small_config(), at::kDouble, device_);
  there.initialise(5);
  for (std::size_t i = 0; i < here->weights().size(); ++i)
    EXPECT_LT(test::largest(there.weights()[i].tensor.detach().cpu() - here->weights()[i].tensor.detach()), 1e-6);
}

/// Loss and adapters' gradients of two packed rows with padding.
Results packed_step(at::Device device, at::ScalarType dtype, Checkpointing checkpointing) {
  Llama network(test::small_config(), dtype, device);
  {
    const at::NoGradGuard no_grad;
    const auto source = test::small_network();
    for (std::size_t i = 0; i < network.weights().size(); ++i)
      at::Tensor(network.weights()[i].tensor).copy_(source->weights()[i].tensor);
  }
  AdapterOptions adapters;
  adapters.dtype = dtype == at::kDouble ? at::kDouble : at::kFloat;
  network.add_adapters(adapters);
  test::fill_adapters(network);
  network.set_checkpointing(checkpointing);
  const std::vector<RowShape> shapes{{{7, 12}, 18}, {{11, 3}, 13}};
  const at::Tensor tokens = at::arange(2 * 19, at::kLong).remainder(37).view({2, 19}),
                   targets = tokens.flip({1}).clone();
  targets[0][0] = -100;
  targets[1].narrow(0, 13, 6).fill_(-100);
  const at::Tensor loss = network.loss_sum({tokens.to(device), targets.to(device), shapes});
  loss.backward();
  Results results{loss.detach().view({1})};
  for (const NamedTensor& adapter : network.adapters())
    results.push_back(adapter.tensor.grad());
  return results;
}

TEST_F(LlamaOnGpu, HasTheLossAndGradientsOfTheCpu) {
  const Results expected = packed_step(at::kCPU, at::kDouble, Checkpointing::off);
  for (const auto& [dtype, tolerance] : {std::pair{at::kDouble, 1e-9}, {at::kFloat, 1e-3}, {at::kBFloat16, 0.1}})
    for (const Checkpointing checkpointing : {Checkpointing::off, Checkpointing::per_layer}) {
      const Results found = packed_step(device_, dtype, checkpointing);
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_LT(test::distance(found[i], expected[i]), tolerance) << c10::toString(dtype) << " " << i;
    }
}

TEST_F(LlamaOnGpu, NeverWaitsForTheDeviceInAStep) {
  Llama network(test::small_config(), at::kBFloat16, device_);
  network.initialise(5);
  network.add_adapters({});
  const std::vector<RowShape> shapes{{{20, 12}, 32}};
  const at::Tensor tokens = at::randint(37, {1, 32}, at::kLong).to(device_);
  const TextInput input{tokens, tokens, shapes};
  network.loss_sum(input).backward();  // rotary tables are made once

  const test::NoWaiting no_waiting;

  EXPECT_NO_THROW(network.loss_sum(input).backward());
}

}  // namespace
}  // namespace multicard
