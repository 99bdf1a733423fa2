// PowerSGD against torch's hook (tests/data/oracles/powersgd), and its properties.
#include "dist/PowerSgd.hpp"

#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Blocks.hpp"
#include "dist/GradientReducer.hpp"
#include "dist/Orthonormal.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

constexpr std::int64_t kRows = 12;

const nlohmann::json& oracle() {
  static const nlohmann::json json =
      nlohmann::json::parse(std::ifstream(test::source_path("tests/data/oracles/powersgd/oracle.json")));
  return json;
}

/// The same numbers as made() of make_powersgd.py.
at::Tensor made(at::IntArrayRef sizes, int salt) {
  const std::int64_t count = c10::multiply_integers(sizes);
  return (at::arange(count, at::kDouble) * (0.7 + 0.01 * salt) + salt).sin().mul(0.2).view(sizes);
}

struct Layout {
  at::MemoryFormat conv = at::MemoryFormat::Contiguous;
  bool transposed = false;  ///< the hidden layer's weight
};

/// The network of make_powersgd.py.
struct Net {
  explicit Net(at::ScalarType type = at::kDouble, const Layout& layout = {}) {
    const std::vector<std::vector<std::int64_t>> shapes{{24, 16, 3, 3}, {24}, {40, 216}, {40}, {10, 40}, {10}};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      at::Tensor value = made(shapes[i], static_cast<int>(i) + 1).to(type);
      if (i == 0) value = value.contiguous(layout.conv);
      if (i == 2 && layout.transposed) value = value.t().contiguous().t();
      parameters.push_back(value.requires_grad_());
    }
  }

  /// This rank's part of the mean over the rows of step `step`.
  at::Tensor loss(std::int64_t step) const {
    const Block mine = block_of(kRows, world().rank(), world().size());
    const auto part = [&](const at::Tensor& whole) {
      return whole.narrow(0, mine.first, mine.count).to(parameters[0].scalar_type());
    };
    const int salt = static_cast<int>(step);
    at::Tensor y = at::tanh(at::conv2d(part(made({kRows, 16, 5, 5}, 20 + salt) * 10), parameters[0], parameters[1]));
    y = at::tanh(at::linear(y.flatten(1), parameters[2], parameters[3]));
    y = at::linear(y, parameters[4], parameters[5]) - part(made({kRows, 10}, 50 + salt) * 5);
    return (y * y).sum() / static_cast<double>(kRows);
  }

  void update(double rate) {
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : parameters)
      parameter.sub_(parameter.grad(), rate);
  }

  std::vector<at::Tensor> parameters;
};

GradientReducer::Options compressed(std::int64_t rank, std::int64_t start_step = 0) {
  GradientReducer::Options options;
  options.compression = {rank, start_step, false};
  return options;
}

struct Training {
  explicit Training(const GradientReducer::Options& options, at::ScalarType type = at::kDouble,
                    const Layout& layout = {})
      : collectives(make_collectives(Backend::automatic, world(), at::kCPU)),
        net(type, layout),
        reducer(net.parameters, *collectives, options) {}

  /// Gradients of step `step`. Returns the loss over all ranks.
  double reduce(std::int64_t step, const at::Tensor& scale = {}) {
    reducer.begin_step(step, scale);
    reducer.arm();
    const at::Tensor loss = net.loss(step);
    (scale.defined() ? loss * scale : loss).backward();
    reducer.finish();
    const at::Tensor total = loss.detach().to(at::kDouble).reshape({1}).clone();
    collectives->all_reduce(total);
    return total.item<double>();
  }
  double train(std::int64_t step) {
    const double loss = reduce(step);
    net.update(0.005);
    return loss;
  }
  std::int64_t bytes() { return collectives->totals()["all_reduce"].payload_bytes; }

  std::unique_ptr<TensorCollectives> collectives;
  Net net;
  GradientReducer reducer;
};

class Rank : public testing::TestWithParam<std::int64_t> {};

TEST_P(Rank, GradientsAreThoseOfTorchsHookOnTwoProcesses) {
  const auto& expected = oracle()["rank_" + std::to_string(GetParam())];
  Training training(compressed(GetParam(), 2));

  for (std::int64_t step = 0; step < 12; ++step) {
    const double loss = training.train(step);

    const auto number = static_cast<std::size_t>(step);
    EXPECT_NEAR(loss, expected["loss"][number].get<double>(), 1e-6 * loss) << step;
    for (std::size_t i = 0; i < training.net.parameters.size(); ++i) {
      const at::Tensor gradient = training.net.parameters[i].grad();
      const auto& known = expected["gradients"][number][i];
      const double l2 = known["l2"].get<double>();
      EXPECT_NEAR(gradient.norm().item<double>(), l2, 1e-6 * l2) << "step " << step << ", gradient " << i;
      for (std::size_t k = 0; k < 6; ++k)
        EXPECT_NEAR(gradient.flatten()[static_cast<std::int64_t>(k)].item<double>(), known["first"][k].get<double>(),
                    1e-6 * l2);
    }
  }
}

TEST_P(Rank, BytesOfAStepAreThoseOfTheFactors) {
  for (const CommDtype type : {CommDtype::same, CommDtype::bf16}) {
    GradientReducer::Options options = compressed(GetParam());
    options.setting.gradient_dtype = type;
    Training training(options, at::kFloat);
    training.reducer.begin_step(0);
    const std::int64_t before = training.bytes();
    training.reducer.finish();

    // Of the weights [24, 16 3 3], [40, 216] and [10, 40], the last of which is too small for rank 4; and the biases.
    const std::int64_t r = GetParam(), last = r < 4 ? r * (10 + 40) : 10 * 40;
    const std::int64_t numel = r * (24 + 144) + r * (40 + 216) + last + 24 + 40 + 10;
    const std::int64_t bytes = type == CommDtype::same ? 4 : 2;
    EXPECT_EQ(training.bytes() - before, bytes * numel);
    EXPECT_EQ(compressed_bytes(training.reducer.gradients(), r, type == CommDtype::same ? 0 : 2), bytes * numel);
  }
}

INSTANTIATE_TEST_SUITE_P(PowerSgd, Rank, testing::Values(1, 2, 4));

std::vector<double> losses(const GradientReducer::Options& options, at::ScalarType type = at::kDouble,
                           const Layout& layout = {}) {
  Training training(options, type, layout);
  std::vector<double> found;
  for (std::int64_t step = 0; step < 6; ++step)
    found.push_back(training.train(step));
  return found;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance * expected[i]) << i;
}

TEST(PowerSgd, BucketsOverlapAndMemoryFormatsChangeNothing) {
  const std::vector<double> expected = losses(compressed(2));
  GradientReducer::Options small_buckets = compressed(2), no_overlap = compressed(2);
  small_buckets.setting.bucket_mb = 0.03;
  no_overlap.overlap = Overlap::no;

  expect_near(losses(small_buckets), expected, 1e-9);
  expect_near(losses(no_overlap), expected, 1e-9);
  expect_near(losses(compressed(2), at::kDouble, {at::MemoryFormat::ChannelsLast, true}), expected, 1e-9);
  expect_near(losses(compressed(2), at::kFloat), expected, 1e-3);
}

TEST(PowerSgd, SixteenBitFactorsTrainAlmostTheSame) {
  GradientReducer::Options options = compressed(2);
  options.setting.gradient_dtype = CommDtype::bf16;

  expect_near(losses(options, at::kFloat), losses(compressed(2), at::kFloat), 0.02);
}

TEST(PowerSgd, WhatIsLeftOutIsInTheErrors) {
  Training training(compressed(1)), plain({});
  training.reduce(0);
  plain.reduce(0);
  training.reducer.spread_error();

  std::size_t num_compressed = 0;
  for (const CompressionState& state : training.reducer.compression_state()) {
    const at::Tensor sum = training.reducer.gradients()[state.parameter] + state.error;
    const at::Tensor& expected = plain.reducer.gradients()[state.parameter];
    EXPECT_GT(state.error.norm().item<double>(), 1e-3 * expected.norm().item<double>());
    EXPECT_LT((sum - expected).norm().item<double>(), 1e-12 * expected.norm().item<double>());
    ++num_compressed;
  }
  EXPECT_EQ(num_compressed, 3u);
}

TEST(PowerSgd, SpreadingTheErrorChangesNoSum) {
  Training spread(compressed(2)), other(compressed(2));
  for (std::int64_t step = 0; step < 6; ++step) {
    const double loss = spread.train(step);
    spread.reducer.spread_error();

    const double expected = other.train(step);
    EXPECT_NEAR(loss, expected, 1e-9 * expected);
  }
}

TEST(PowerSgd, AGradientThatWasZeroIsSentLater) {
  // As those of the first LoRA matrix are at the first step.
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const at::Tensor weight = at::zeros({30, 20}, at::kDouble).requires_grad_();
  GradientReducer reducer({weight}, *collectives, compressed(2));
  const at::Tensor gradient = made({30, 1}, 1).matmul(made({1, 20}, 2));
  for (std::int64_t step = 0; step < 3; ++step) {
    reducer.begin_step(step);
    if (step > 0) weight.mutable_grad().copy_(gradient);
    reducer.finish();
  }

  // Of rank 1, and so compressed without loss, although the second columns are nothing but zeros.
  const at::Tensor expected = gradient * world().size();
  EXPECT_LT((weight.grad() - expected).norm().item<double>(), 1e-12 * expected.norm().item<double>());
}

TEST(PowerSgd, AStepThatOverflowsLeavesNoTrace) {
  GradientReducer::Options options = compressed(2);
  options.compression.may_skip = true;
  Training training(options, at::kFloat), other(options, at::kFloat);
  const at::Tensor scale = at::full({}, 1024.0f), none = at::zeros({});
  training.reduce(0, scale);
  training.reducer.settle(none);
  other.reduce(0, scale);
  other.reducer.settle(none);

  training.reducer.begin_step(1, scale);
  if (world().rank() == 0) training.reducer.gradients()[0].view({-1})[7].fill_(INFINITY);
  training.reducer.finish();
  EXPECT_FALSE(training.reducer.gradients()[0].isfinite().all().item<bool>());  // on all ranks
  training.reducer.settle(at::ones({}));
  // The scale is halved after that, and errors know none.
  training.reduce(1, scale / 2);
  other.reduce(1, scale);

  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_TRUE((training.reducer.gradients()[i] * 2).equal(other.reducer.gradients()[i])) << i;
}

TEST(PowerSgd, StateIsThatOfAnotherReducer) {
  Training first(compressed(2)), second(compressed(2));
  for (std::int64_t step = 0; step < 4; ++step)
    first.train(step);
  first.reducer.spread_error();
  const auto from = first.reducer.compression_state(), to = second.reducer.compression_state();
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[i].error.copy_(from[i].error);
    to[i].q.copy_(from[i].q);
  }
  {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < 6; ++i)
      second.net.parameters[i].copy_(first.net.parameters[i]);
  }

  for (std::int64_t step = 4; step < 8; ++step)
    EXPECT_EQ(second.train(step), first.train(step));
}

TEST(PowerSgd, ColumnsBecomeOrthonormal) {
  const at::Tensor flat = at::zeros({30 + 60}, at::kFloat);
  const at::Tensor full = flat.narrow(0, 0, 30).view({10, 3}), deficient = flat.narrow(0, 30, 60).view({20, 3});
  full.copy_(made({10, 3}, 1));
  deficient.copy_(made({20, 1}, 2).expand({20, 3}));
  const at::Tensor spare = made({20, 3}, 3), before = full.clone();

  orthonormalise(flat, {full, deficient}, {made({10, 3}, 4), spare});

  for (const at::Tensor& matrix : {full, deficient})
    EXPECT_LT((matrix.t().matmul(matrix) - at::eye(3)).abs().max().item<double>(), 1e-6);
  EXPECT_LT((full.matmul(full.t().matmul(before)) - before).abs().max().item<double>(), 1e-6);  // the span
}

TEST(PowerSgd, DependentColumnsBecomeZeroWithoutSpares) {
  const at::Tensor matrix = made({20, 1}, 2).expand({20, 2}).clone();

  orthonormalise(matrix.view({-1}), {matrix});

  EXPECT_NEAR(matrix.select(1, 0).norm().item<double>(), 1, 1e-12);
  EXPECT_EQ(matrix.select(1, 1).norm().item<double>(), 0);
}

}  // namespace
}  // namespace multicard
