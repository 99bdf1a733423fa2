#include "nn/InvertedResidual.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "nn/cpu/FusedInvertedResidual.hpp"

namespace multicard {
namespace {

struct Case {
  std::int64_t in, out, expansion, stride, height, width;
};

class InvertedResidualBlock : public testing::TestWithParam<std::tuple<Case, at::ScalarType>> {
 protected:
  const Case& shape() const { return std::get<0>(GetParam()); }
  at::TensorOptions options() const { return at::TensorOptions().dtype(std::get<1>(GetParam())); }
  double tolerance() const { return std::get<1>(GetParam()) == at::kDouble ? 1e-11 : 1e-4; }

  at::Tensor leaf(at::Tensor value) const { return value.requires_grad_(true); }

  ConvNorm layer(const Convolution& convolution) const {
    ConvNorm result{.convolution = convolution, .weight = {}, .norm = {}};
    const std::int64_t fan_in = convolution.in / convolution.groups * convolution.kernel * convolution.kernel;
    result.weight =
        leaf(at::randn({convolution.out, convolution.in / convolution.groups, convolution.kernel, convolution.kernel},
                       options()) /
             std::sqrt(static_cast<double>(fan_in)));
    result.norm.weight = leaf(at::rand({convolution.out}, options()) + 0.5);
    result.norm.bias = leaf(at::rand({convolution.out}, options()));
    result.norm.running_mean = at::zeros({convolution.out}, options());
    result.norm.running_var = at::rand({convolution.out}, options()) + 1;
    result.norm.num_batches_tracked = at::zeros({}, options().dtype(at::kLong));
    return result;
  }

  InvertedResidual block() const {
    at::manual_seed(3);
    const std::int64_t hidden = shape().in * shape().expansion;
    InvertedResidual result;
    if (shape().expansion > 1) result.expand = layer({.in = shape().in, .out = hidden});
    result.depthwise = layer({.in = hidden, .out = hidden, .kernel = 3, .stride = shape().stride, .groups = hidden});
    result.project = layer({.in = hidden, .out = shape().out});
    return result;
  }
  at::Tensor images(std::int64_t rows) const {
    at::manual_seed(4);
    return leaf(at::randn({rows, shape().in, shape().height, shape().width}, options())
                    .contiguous(at::MemoryFormat::ChannelsLast));
  }

  // Output, gradient of the input, then everything a block holds and the gradients.
  std::vector<at::Tensor> run(const NormContext& context, std::int64_t rows = 3) const {
    const InvertedResidual net = block();
    const at::Tensor x = images(rows);
    const at::Tensor y = net.forward(x, context);
    at::manual_seed(5);
    (y * at::randn(y.sizes(), options())).sum().backward();
    std::vector<at::Tensor> results{y, x.grad()};
    for (const ConvNorm* part : {net.expand ? &*net.expand : &net.project, &net.depthwise, &net.project})
      results.insert(results.end(), {part->weight.grad(), part->norm.weight.grad(), part->norm.bias.grad(),
                                     part->norm.running_mean, part->norm.running_var});
    return results;
  }

  void expect_near(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b, double tolerance) const {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double scale = std::sqrt(static_cast<double>(b[i].numel())) * 1e-3 + b[i].norm().item<double>();
      EXPECT_LT((a[i] - b[i]).norm().item<double>(), tolerance * scale) << "result " << i;
    }
  }
};

TEST_P(InvertedResidualBlock, IsTheSameFusedAsFromAtensOperations) {
  ASSERT_TRUE(can_fuse(images(3), block(), {}));
  for (const Statistics statistics : {Statistics::of_batch, Statistics::frozen})
    expect_near(run({.statistics = statistics}), run({.statistics = statistics, .kernels = Kernels::aten}),
                tolerance());
}

TEST_P(InvertedResidualBlock, DoesNotDependOnTheNumberOfThreads) {
  const auto one = run({}, 20);
  at::set_num_threads(3);
  const auto three = run({}, 20);
  at::set_num_threads(1);

  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(at::equal(one[i], three[i])) << "result " << i;
}

TEST_P(InvertedResidualBlock, TakesNoRows) {
  const auto results = run({}, 0);

  EXPECT_EQ(results[0].size(0), 0);
  EXPECT_EQ(results[1].size(0), 0);
  for (const std::size_t gradient : {2, 3, 4, 7, 8, 9, 12, 13, 14})
    EXPECT_EQ(results[gradient].norm().item<double>(), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, InvertedResidualBlock,
                         testing::Combine(testing::Values(Case{8, 8, 1, 1, 6, 9},      // no expansion, adds its input
                                                          Case{16, 24, 6, 2, 7, 10},   // odd and even sizes, stride 2
                                                          Case{24, 24, 6, 1, 13, 8},   // adds its input
                                                          Case{5, 7, 3, 2, 8, 5},      // channels without a vector
                                                          Case{32, 16, 1, 1, 30, 30},  // several blocks of rows
                                                          Case{40, 40, 6, 1, 1, 1},    // one pixel
                                                          Case{6, 6, 3, 1, 2, 40}),    // fewer rows than the filter
                                          testing::Values(at::kDouble, at::kFloat)));

}  // namespace
}  // namespace multicard
