#include "nn/losses/SequenceLoss.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/stack.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

constexpr std::int64_t kTokens = 60, kSequences = 4, kChunk = 7;  // chunks end inside sequences

struct Case {
  at::Tensor hidden = at::randn({kTokens, 6}, at::kDouble).requires_grad_(true);
  at::Tensor weight = at::randn({50, 6}, at::kDouble).requires_grad_(true);
  at::Tensor targets = at::randint(50, {kTokens}, at::kLong);
  at::Tensor factors = at::randn({kSequences}, at::kDouble);  // of the sequences' losses

  Case() {
    for (std::int64_t i = 0; i < kTokens; i += 3)
      targets[i] = -100;
  }
  SequenceTargets sequences() const {
    SequenceTargets all{token_targets(targets, 40), {}, kSequences};
    all.sequence_of = all.targets.positions.div(kTokens / kSequences, "floor");
    return all;
  }
  /// From all logits at once.
  at::Tensor expected() const {
    std::vector<at::Tensor> sums;
    const std::int64_t length = kTokens / kSequences;
    for (std::int64_t i = 0; i < kSequences; ++i)
      sums.push_back(at::cross_entropy_loss(at::mm(hidden.narrow(0, i * length, length), weight.t()),
                                            targets.narrow(0, i * length, length), {}, at::Reduction::Sum, -100));
    return at::stack(sums);
  }
};

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).norm().item<double>() / b.norm().item<double>();
}

TEST(SequenceLoss, IsTheCrossEntropyOfEachSequenceWithItsOwnGradient) {
  const Case c;
  const at::Tensor expected = c.expected();
  (expected * c.factors).sum().backward();
  const at::Tensor dhidden = c.hidden.grad().clone(), dweight = c.weight.grad().clone();
  c.hidden.mutable_grad().reset();
  c.weight.mutable_grad().reset();

  const at::Tensor found = sequence_losses(c.hidden, c.weight, c.sequences(), kChunk);
  (found * c.factors).sum().backward();

  EXPECT_LT(distance(found, expected), 1e-12);
  EXPECT_LT(distance(c.hidden.grad(), dhidden), 1e-12);
  EXPECT_LT(distance(c.weight.grad(), dweight), 1e-12);
}

TEST(SequenceLoss, HasTheSameGradientWhileTheWeightIsFrozen) {
  const Case c;
  (sequence_losses(c.hidden, c.weight, c.sequences(), kChunk) * c.factors).sum().backward();
  const at::Tensor dhidden = c.hidden.grad().clone();
  c.hidden.mutable_grad().reset();
  c.weight.mutable_grad().reset();
  c.weight.requires_grad_(false);

  (sequence_losses(c.hidden, c.weight, c.sequences(), kChunk) * c.factors).sum().backward();

  EXPECT_LT(distance(c.hidden.grad(), dhidden), 1e-12);
  EXPECT_FALSE(c.weight.grad().defined());
}

TEST(SequenceLoss, TrainsTheWeightAlone) {
  const Case c;
  (sequence_losses(c.hidden, c.weight, c.sequences(), kChunk) * c.factors).sum().backward();
  const at::Tensor dweight = c.weight.grad().clone();
  c.weight.mutable_grad().reset();
  c.hidden.requires_grad_(false);

  (sequence_losses(c.hidden, c.weight, c.sequences(), kChunk) * c.factors).sum().backward();

  EXPECT_TRUE(c.weight.grad().equal(dweight));
}

TEST(SequenceLoss, IsTheSameWithoutGradients) {
  const Case c;
  const at::Tensor expected = sequence_losses(c.hidden, c.weight, c.sequences(), kChunk);
  const at::NoGradGuard no_grad;

  const at::Tensor found = sequence_losses(c.hidden, c.weight, c.sequences(), kChunk);

  EXPECT_TRUE(found.equal(expected));
  EXPECT_FALSE(found.requires_grad());
}

TEST(SequenceLoss, CountsTargets) {
  Case c;
  c.targets.narrow(0, 0, 15).fill_(-100);

  SequenceTargets sequences{token_targets(c.targets, 30), {}, kSequences};
  sequences.sequence_of = sequences.targets.positions.div(kTokens / kSequences, "floor");

  const at::Tensor counts = sequences.counts(), losses = sequence_losses(c.hidden, c.weight, sequences, kChunk);
  EXPECT_EQ(counts[0].item<double>(), 0);
  EXPECT_EQ(counts[3].item<double>(), 10);
  EXPECT_EQ(losses[0].item<double>(), 0);
}

}  // namespace
}  // namespace multicard
