// The CPU kernels of language models against plain operations in float64.
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "kernels/cpu/TokenRows.hpp"
#include "nn/language/RmsNorm.hpp"
#include "nn/language/Rope.hpp"
#include "nn/language/SwiGlu.hpp"
#include "token_results.hpp"

namespace multicard {
namespace {

using test::Results;

const std::vector<std::int64_t> kSizes{5, 16, 48, 83};  // with and without a rest

void expect_near(const std::function<Results(std::int64_t)>& inputs,
                 const std::function<Results(const Results&, Kernels)>& body) {
  test::expect_near(kSizes, at::kCPU, inputs, body);
}

TEST(TokenKernels, AddAndNormalise) {
  expect_near(
      [](std::int64_t size) {
        return Results{at::randn({37, size}, at::kDouble), at::randn({37, size}, at::kDouble) * 2,
                       at::randn({size}, at::kDouble)};
      },
      [](const Results& in, Kernels kernels) {
        const Normed result = add_rms_norm(in[0], in[1], in[2], 1e-5, kernels);
        return Results{result.stream, result.normed};
      });
}

TEST(TokenKernels, NormaliseAlone) {
  expect_near(
      [](std::int64_t size) {
        return Results{at::randn({21, size}, at::kDouble), at::randn({size}, at::kDouble)};
      },
      [](const Results& in, Kernels kernels) { return Results{add_rms_norm(in[0], {}, in[1], 1e-5, kernels).normed}; });
}

TEST(TokenKernels, Gate) {
  expect_near(
      [](std::int64_t size) {
        return Results{at::randn({37, 2 * size}, at::kDouble) * 4};
      },
      [](const Results& in, Kernels kernels) { return Results{swiglu(in[0], kernels)}; });
}

TEST(TokenKernels, GateValuesFarFromZero) {
  const at::Tensor gates = at::tensor({-1e30, -200.0, -88.0, -20.0, 0.0, 20.0, 88.0, 1e30}, at::kFloat);
  const at::Tensor both = at::cat({gates, at::ones_like(gates)}).unsqueeze(0);

  const at::Tensor y = swiglu(both).squeeze(0);

  EXPECT_TRUE(y.isfinite().all().item<bool>());
  EXPECT_LT(y.narrow(0, 0, 3).abs().max().item<float>(), 1e-6);
  EXPECT_EQ(y[7].item<float>(), 1e30F);
}

TEST(TokenKernels, Exponentials) {
  const at::Tensor x = at::linspace(-87, 0, 100003, at::kFloat), y = x.clone();

  token_kernels<float>().exponentials(y.data_ptr<float>(), y.numel(), 0.0F);

  const at::Tensor expected = x.to(at::kDouble).exp();
  EXPECT_LT(((y - expected) / expected).abs().max().item<double>(), 3e-7);
}

TEST(TokenKernels, LogarithmsOfSumsOfExponentials) {
  for (const std::int64_t size : {1, 7, 16, 1003}) {
    const at::Tensor x = at::randn({size}) * 30 + 500;
    const double found = token_kernels<float>().log_sum_exp(x.data_ptr<float>(), size);
    EXPECT_NEAR(found, x.to(at::kDouble).logsumexp({0}).item<double>(), 1e-4);
  }
  const at::Tensor many = at::randn({200001}) * 2;
  EXPECT_NEAR(token_kernels<float>().log_sum_exp(many.data_ptr<float>(), many.numel()),
              many.to(at::kDouble).logsumexp({0}).item<double>(), 2e-6);
  at::Tensor broken = at::randn({100});
  broken[40] = std::nan("");
  EXPECT_TRUE(std::isnan(token_kernels<float>().log_sum_exp(broken.data_ptr<float>(), 100)));
}

}  // namespace
}  // namespace multicard
