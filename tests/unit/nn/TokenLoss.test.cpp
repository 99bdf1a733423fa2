#include "nn/losses/TokenLoss.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

struct Case {
  at::Tensor hidden, weight, targets;
};

// More targets than a chunk holds; every third position has none.
Case large_case(at::ScalarType dtype = at::kDouble) {
  constexpr std::int64_t kVocabulary = 262144, kTokens = 126;
  Case c{at::randn({kTokens, 6}, at::kDouble).to(dtype), at::randn({kVocabulary, 6}, at::kDouble).to(dtype),
         at::randint(kVocabulary, {kTokens}, at::kLong)};
  for (std::int64_t i = 0; i < kTokens; i += 3)
    c.targets[i] = -100;
  c.hidden.requires_grad_(true);
  c.weight.requires_grad_(true);
  return c;
}

at::Tensor whole_loss(const Case& c) {
  return at::cross_entropy_loss(at::mm(c.hidden, c.weight.t()), c.targets, {}, at::Reduction::Sum, -100);
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).norm().item<double>() / b.norm().item<double>();
}

TEST(TokenLoss, IsTheCrossEntropyOfAllLogits) {
  const Case c = large_case();
  const at::Tensor expected = whole_loss(c);
  (expected * 0.37).backward();
  const at::Tensor dhidden = c.hidden.grad().clone(), dweight = c.weight.grad().clone();
  c.hidden.mutable_grad().reset();
  c.weight.mutable_grad().reset();

  const at::Tensor loss = token_loss(c.hidden, c.weight, token_targets(c.targets, 84));
  (loss * 0.37).backward();

  EXPECT_NEAR(loss.item<double>(), expected.item<double>(), 1e-9 * expected.item<double>());
  EXPECT_LT(distance(c.hidden.grad(), dhidden), 1e-12);
  EXPECT_LT(distance(c.weight.grad(), dweight), 1e-12);
}

TEST(TokenLoss, HasGradientsForWhatIsTrained) {
  const Case c = large_case();
  c.weight.requires_grad_(false);

  token_loss(c.hidden, c.weight, token_targets(c.targets, 84)).backward();

  EXPECT_TRUE(c.hidden.grad().defined());
  EXPECT_FALSE(c.weight.grad().defined());
}

TEST(TokenLoss, OfNoTargetIsZeroWithZeroGradients) {
  const Case c = large_case();
  c.targets.fill_(-100);

  const at::Tensor loss = token_loss(c.hidden, c.weight, token_targets(c.targets, 0));
  loss.backward();

  EXPECT_EQ(loss.item<double>(), 0.0);
  EXPECT_EQ(c.hidden.grad().abs().max().item<double>(), 0.0);
  EXPECT_EQ(c.weight.grad().abs().max().item<double>(), 0.0);
}

TEST(TokenLoss, IsTakenInFloat32Of16BitLogits) {
  const Case c = large_case(at::kBFloat16);
  const Case wide{c.hidden.detach().to(at::kFloat).requires_grad_(true), c.weight.detach().to(at::kFloat), c.targets};
  const at::Tensor expected = whole_loss(wide);
  expected.backward();

  const at::Tensor loss = token_loss(c.hidden, c.weight, token_targets(c.targets, 84));
  loss.backward();

  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_NEAR(loss.item<double>() / expected.item<double>(), 1.0, 1e-3);
  EXPECT_LT(distance(c.hidden.grad().to(at::kFloat), wide.hidden.grad()), 1e-2);
}

}  // namespace
}  // namespace multicard
