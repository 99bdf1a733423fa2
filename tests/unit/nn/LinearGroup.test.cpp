// Layers side by side against the same layers written out, whose gradients are autograd's.
#include "nn/language/LinearGroup.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

constexpr std::int64_t kIn = 5, kTokens = 7, kRank = 2;
const at::TensorOptions kDoubles = at::TensorOptions().dtype(at::kDouble);

/// Numbers without a pattern that could hide wrong products.
at::Tensor values(at::IntArrayRef sizes, double phase) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes)
    count *= size;
  return at::cos(at::arange(count, kDoubles) * 1.7 + phase).reshape(sizes);
}

void fill(const NamedTensors& tensors, double phase) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& entry : tensors)
    at::Tensor(entry.tensor).copy_(values(entry.tensor.sizes(), phase += 0.37));
}

LinearGroup two_layers(bool has_bias) {
  LinearGroup group(kIn, {{"q", 4, has_bias}, {"v", 3, has_bias}}, kDoubles);
  fill(group.weights(), 0.1);
  return group;
}

AdapterOptions adapters() {
  AdapterOptions options;
  options.settings.rank = kRank;
  options.settings.alpha = 3;
  options.dtype = at::kDouble;
  return options;
}

LinearPass pass() {
  LinearPass pass;
  pass.dtype = at::kDouble;
  return pass;
}

/// What autograd makes of `y` for x and `leaves`, from a gradient without a pattern.
std::vector<at::Tensor> gradients(const at::Tensor& y, const at::Tensor& x, const std::vector<at::Tensor>& leaves) {
  y.backward(values(y.sizes(), 2.9));
  std::vector<at::Tensor> found{x.grad().clone()};
  x.mutable_grad().reset();
  for (const at::Tensor& leaf : leaves) {
    found.push_back(leaf.grad().clone());
    leaf.mutable_grad().reset();
  }
  return found;
}

void expect_near(const std::vector<at::Tensor>& found, const std::vector<at::Tensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].sizes(), expected[i].sizes()) << i;
    EXPECT_LT((found[i] - expected[i]).abs().max().item<double>(), 1e-12) << i;
  }
}

at::Tensor input() {
  return values({kTokens, kIn}, 0.8).requires_grad_(true);
}

TEST(LinearGroup, IsItsLayersSideBySide) {
  for (const bool has_bias : {false, true}) {
    const LinearGroup group = two_layers(has_bias);
    const std::vector<at::Tensor> leaves = tensors_of(group.weights());
    const at::Tensor x = input();
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < leaves.size(); i += has_bias ? 2 : 1) {
      const at::Tensor part = x.matmul(leaves[i].t());
      parts.push_back(has_bias ? part + leaves[i + 1] : part);
    }
    const at::Tensor expected = at::cat(parts, 1), y = group.forward(x, pass());

    EXPECT_LT((y - expected).abs().max().item<double>(), 1e-13);
    const std::vector<at::Tensor> wanted = gradients(expected, x, leaves);
    expect_near(gradients(y, x, leaves), wanted);
  }
}

/// q has rank 3 and alpha 6, v the rank and alpha of all.
AdapterOptions unequal_adapters() {
  AdapterOptions options = adapters();
  options.settings.patterns = {{{"q", 3}}, {{"q", 6}}};
  options.matcher = [](const std::string& expression, const std::vector<std::string>& names, const std::string&) {
    std::vector<std::string> matching;
    for (const std::string& name : names)
      if (expression.ends_with("(" + name + ")")) matching.push_back(name);
    return matching;
  };
  return options;
}

TEST(LinearGroup, TakesAdaptersOfUnequalRanksAndScalings) {
  LinearGroup group = two_layers(false);
  group.add_adapters(unequal_adapters(), {"q", "v"});
  fill(group.adapters(), 1.3);
  const std::vector<at::Tensor> weights = tensors_of(group.weights()), leaves = tensors_of(group.adapters());
  ASSERT_EQ(leaves[0].sizes(), (std::vector<std::int64_t>{3, kIn}));
  ASSERT_EQ(leaves[2].sizes(), (std::vector<std::int64_t>{kRank, kIn}));
  const at::Tensor x = input();
  const at::Tensor q = x.matmul(weights[0].t()) + 2.0 * x.matmul(leaves[0].t()).matmul(leaves[1].t());
  const at::Tensor v = x.matmul(weights[1].t()) + 1.5 * x.matmul(leaves[2].t()).matmul(leaves[3].t());
  const at::Tensor expected = at::cat({q, v}, 1), y = group.forward(x, pass());

  EXPECT_LT((y - expected).abs().max().item<double>(), 1e-13);
  const std::vector<at::Tensor> wanted = gradients(expected, x, leaves);
  expect_near(gradients(y, x, leaves), wanted);

  group.merge_adapters();
  EXPECT_LT((group.forward(x, pass()) - expected).abs().max().item<double>(), 1e-12);
}

TEST(LinearGroup, AddsTheLowRankUpdatesOfAdaptedLayers) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"q", "v"}, std::vector<std::string>{"v"}, std::vector<std::string>{"q"}}) {
    LinearGroup group = two_layers(true);
    group.add_adapters(adapters(), names);
    fill(group.adapters(), 1.3);
    const std::vector<at::Tensor> weights = tensors_of(group.weights()), leaves = tensors_of(group.adapters());
    const at::Tensor x = input();
    std::vector<at::Tensor> parts;
    std::size_t adapted = 0;
    for (std::size_t layer = 0; layer < 2; ++layer) {
      at::Tensor part = x.matmul(weights[2 * layer].t()) + weights[2 * layer + 1];
      if (std::find(names.begin(), names.end(), layer == 0 ? "q" : "v") != names.end()) {
        const at::Tensor &a = leaves[2 * adapted], &b = leaves[2 * adapted + 1];
        part = part + 1.5 * x.matmul(a.t()).matmul(b.t());  // alpha / rank
        ++adapted;
      }
      parts.push_back(part);
    }
    const at::Tensor expected = at::cat(parts, 1), y = group.forward(x, pass());

    EXPECT_LT((y - expected).abs().max().item<double>(), 1e-13);
    const std::vector<at::Tensor> wanted = gradients(expected, x, leaves);
    expect_near(gradients(y, x, leaves), wanted);
    for (const at::Tensor& weight : weights)
      EXPECT_FALSE(weight.requires_grad());
  }
}

TEST(LinearGroup, LeavesAdaptersOutOfAPassThatUsesNone) {
  LinearGroup group = two_layers(false);
  const at::Tensor x = values({kTokens, kIn}, 0.8), before = group.forward(x, pass()).detach();
  group.add_adapters(adapters(), {"q", "v"});
  fill(group.adapters(), 1.3);
  LinearPass without = pass();
  without.uses_adapters = false;

  EXPECT_TRUE(group.forward(x, without).equal(before));
  EXPECT_FALSE(group.forward(x, pass()).detach().equal(before));
}

TEST(LinearGroup, MergedAdaptersAreInTheWeights) {
  LinearGroup group = two_layers(true);
  group.add_adapters(adapters(), {"q", "v"});
  fill(group.adapters(), 1.3);
  const at::Tensor x = values({kTokens, kIn}, 0.8), adapted = group.forward(x, pass()).detach();
  group.merge_adapters();

  EXPECT_TRUE(group.adapters().empty());
  EXPECT_LT((group.forward(x, pass()) - adapted).abs().max().item<double>(), 1e-13);
}

TEST(LinearGroup, BackwardDropsWhatForwardDropped) {
  LinearGroup group = two_layers(false);
  group.add_adapters(adapters(), {"q", "v"});
  fill(group.adapters(), 1.3);
  LinearPass dropping = pass();
  dropping.dropout = 0.4;
  dropping.dropout_seed = 17;
  const std::vector<at::Tensor> leaves = tensors_of(group.adapters());
  const at::Tensor x = input();
  const std::vector<at::Tensor> found = gradients(group.forward(x, dropping), x, leaves);

  // With the mask fixed the loss is linear in every single value: a finite difference of any size is exact.
  const auto loss = [&] {
    const at::NoGradGuard no_grad;
    const at::Tensor y = group.forward(x, dropping);
    return (y * values(y.sizes(), 2.9)).sum().item<double>();
  };
  const auto slope = [&](const at::Tensor& leaf, std::int64_t i) {
    const at::NoGradGuard no_grad;
    at::Tensor value = leaf.view({-1})[i];
    const double before = loss();
    value.add_(0.5);
    const double after = loss();
    value.sub_(0.5);
    return (after - before) / 0.5;
  };
  for (std::int64_t i = 0; i < x.numel(); ++i)
    EXPECT_NEAR(found[0].view({-1})[i].item<double>(), slope(x, i), 1e-11) << i;
  for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf)
    EXPECT_NEAR(found[leaf + 1].view({-1})[1].item<double>(), slope(leaves[leaf], 1), 1e-11) << leaf;
  EXPECT_FALSE(group.forward(x, dropping).equal(group.forward(x, pass())));
}

TEST(LinearGroup, HasTheSameGradientsWhereNothingNeedsItsOutput) {
  for (const bool adapts : {false, true}) {
    LinearGroup group = two_layers(true);
    if (adapts) group.add_adapters(adapters(), {"v"});
    fill(group.adapters(), 1.3);
    const std::vector<at::Tensor> leaves = tensors_of(adapts ? group.adapters() : group.weights());
    LinearPass repeated = pass();
    repeated.needs_output = false;
    const at::Tensor x = input();
    const std::vector<at::Tensor> expected = gradients(group.forward(x, pass()), x, leaves),
                                  found = gradients(group.forward(x, repeated), x, leaves);

    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(found[i].equal(expected[i])) << i;
  }
}

}  // namespace
}  // namespace multicard
