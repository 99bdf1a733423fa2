#include "nn/Losses.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(CrossEntropy, OfPartsAddsUpToTheMean) {
  const at::Tensor logits = at::randn({7, 5}), labels = at::randint(5, {7}, at::kLong);

  const at::Tensor first = cross_entropy(logits.narrow(0, 0, 3), labels.narrow(0, 0, 3), 7);
  const at::Tensor rest = cross_entropy(logits.narrow(0, 3, 4), labels.narrow(0, 3, 4), 7);

  EXPECT_NEAR((first + rest).item<double>(), at::cross_entropy_loss(logits, labels).item<double>(), 1e-6);
}

TEST(CrossEntropy, OfNoRowsIsZeroWithZeroGradients) {
  const at::Tensor logits = at::randn({0, 5}).requires_grad_(true);

  const at::Tensor loss = cross_entropy(logits, at::randint(5, {0}, at::kLong), 7);
  loss.backward();

  EXPECT_EQ(loss.item<double>(), 0.0);
  EXPECT_EQ(logits.grad().numel(), 0);
}

TEST(CrossEntropy, IsTakenInFloat32AtLeast) {
  const at::Tensor logits = at::randn({2, 5}), labels = at::randint(5, {2}, at::kLong);

  EXPECT_EQ(cross_entropy(logits.to(at::kBFloat16), labels, 2).scalar_type(), at::kFloat);
  EXPECT_EQ(cross_entropy(logits.to(at::kDouble), labels, 2).scalar_type(), at::kDouble);
}

TEST(NumCorrect, CountsRowsWhoseLabelHasTheLargestLogit) {
  const at::Tensor logits = at::tensor({1.0, 2.0, 3.0, 1.0, 0.0, 5.0}).view({3, 2});
  const at::Tensor labels = at::tensor({1, 1, 1}, at::kLong);

  EXPECT_EQ(num_correct(logits, labels).item<std::int64_t>(), 2);
  EXPECT_EQ(num_correct(logits.narrow(0, 0, 0), labels.narrow(0, 0, 0)).item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace multicard
