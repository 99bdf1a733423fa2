#include "nn/losses/Losses.hpp"

#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
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

TEST(CrossEntropy, SmoothsLabels) {
  const at::Tensor logits = at::randn({6, 5}, at::kDouble).requires_grad_(true);
  const at::Tensor labels = at::randint(5, {6}, at::kLong);
  // 0.7 at the label and 0.3 over all five classes.
  const at::Tensor targets = at::one_hot(labels, 5).to(at::kDouble) * 0.7 + 0.3 / 5;

  const at::Tensor loss = cross_entropy(logits, labels, 12, 0.3);
  loss.backward();

  EXPECT_NEAR(loss.item<double>(), -(targets * logits.log_softmax(1)).sum().item<double>() / 12, 1e-12);
  EXPECT_LT((logits.grad() - (logits.softmax(1) - targets) / 12).norm().item<double>(), 1e-12);
  EXPECT_EQ(cross_entropy(logits.narrow(0, 0, 0), labels.narrow(0, 0, 0), 12, 0.3).item<double>(), 0.0);
}

TEST(NumCorrect, CountsRowsWhoseLabelHasTheLargestLogit) {
  const at::Tensor logits = at::tensor({1.0, 2.0, 3.0, 1.0, 0.0, 5.0}).view({3, 2});
  const at::Tensor labels = at::tensor({1, 1, 1}, at::kLong);

  EXPECT_EQ(num_correct(logits, labels).item<std::int64_t>(), 2);
  EXPECT_EQ(num_correct(logits.narrow(0, 0, 0), labels.narrow(0, 0, 0)).item<std::int64_t>(), 0);
}

TEST(NumCorrectInTop, CountsRowsWhoseLabelIsAmongTheLargestLogits) {
  const at::Tensor logits = at::randn({200, 12}), labels = at::randint(12, {200}, at::kLong);

  EXPECT_EQ(num_correct_in_top(logits, labels, 1).item<std::int64_t>(),
            num_correct(logits, labels).item<std::int64_t>());
  for (const std::int64_t k : {1, 5, 11}) {
    const at::Tensor largest = std::get<1>(logits.topk(k, 1));
    const auto expected = (largest == labels.unsqueeze(1)).sum().item<std::int64_t>();
    EXPECT_EQ(num_correct_in_top(logits, labels, k).item<std::int64_t>(), expected);
  }
  EXPECT_EQ(num_correct_in_top(logits, labels, 12).item<std::int64_t>(), 200);
  EXPECT_EQ(num_correct_in_top(logits, labels, 50).item<std::int64_t>(), 200);
  EXPECT_EQ(num_correct_in_top(logits.narrow(0, 0, 0), labels.narrow(0, 0, 0), 5).item<std::int64_t>(), 0);
}

TEST(NumCorrectInTop, PutsLowerClassesFirstAmongEqualsAndNanBeforeNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor logits = at::tensor({1.0, 1.0, 1.0, nan, 2.0, 1.0, nan, 0.0, 0.0}).view({3, 3});
  const auto correct = [&](std::vector<std::int64_t> labels, std::int64_t k) {
    return num_correct_in_top(logits, at::tensor(labels, at::kLong), k).item<std::int64_t>();
  };

  EXPECT_EQ(correct({0, 1, 1}, 1), 1);
  EXPECT_EQ(correct({1, 1, 1}, 2), 3);
  EXPECT_EQ(correct({2, 2, 2}, 2), 0);
  EXPECT_EQ(correct({2, 0, 0}, 2), 0);
}

}  // namespace
}  // namespace multicard
