#include "nn/vision/InvertedResidual.hpp"

#include <functional>
#include <optional>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "autocast_scope.hpp"
#include "nn/vision/FusedInvertedResidual.hpp"

namespace multicard {
namespace {

constexpr auto kNhwc = at::MemoryFormat::ChannelsLast, kNchw = at::MemoryFormat::Contiguous;

struct Case {
  std::int64_t in, out, expansion, stride, height, width;
};

// How activations lie in memory; with 16 bits, parameters are float32 and the forward pass is under autocast.
struct Storage {
  at::ScalarType dtype;
  at::MemoryFormat layout;

  bool is_narrow() const { return dtype == at::kBFloat16 || dtype == at::kHalf; }
  at::ScalarType parameters() const { return is_narrow() ? at::kFloat : dtype; }
  // Half a unit in the last place, where it matters here.
  double rounding() const { return dtype == at::kBFloat16 ? 0x1.0p-8 : dtype == at::kHalf ? 0x1.0p-11 : 0.0; }
};

// Normal values; or whole numbers so small that a frozen block is exact, also in 16 bits.
enum class Values { normal, whole };

class InvertedResidualBlock : public testing::TestWithParam<std::tuple<Case, Storage>> {
 protected:
  const Case& shape() const { return std::get<0>(GetParam()); }
  const Storage& storage() const { return std::get<1>(GetParam()); }

  static at::Tensor leaf(at::Tensor value) { return value.detach().requires_grad_(true); }

  static ConvNorm layer(const Convolution& convolution, at::ScalarType dtype, Values values) {
    const auto options = at::TensorOptions().dtype(dtype);
    ConvNorm result{.convolution = convolution, .weight = {}, .norm = {}};
    const std::int64_t fan_in = convolution.in / convolution.groups * convolution.kernel * convolution.kernel;
    const std::vector<std::int64_t> sizes{convolution.out, convolution.in / convolution.groups, convolution.kernel,
                                          convolution.kernel};
    const bool whole = values == Values::whole;
    const auto per_channel = [&](double least) { return (at::rand({convolution.out}) + least).to(dtype); };
    result.weight = leaf(whole ? at::randint(-1, 2, sizes, options)
                               : (at::randn(sizes) / std::sqrt(static_cast<double>(fan_in))).to(dtype));
    result.norm.weight = leaf(whole ? at::ones({convolution.out}, options) : per_channel(0.5));
    result.norm.bias = leaf(whole ? at::randint(-1, 2, {convolution.out}, options) : per_channel(0.0));
    result.norm.running_mean = at::zeros({convolution.out}, options);
    result.norm.running_var = whole ? at::full({convolution.out}, 1 - kNormEpsilon, options) : per_channel(1.0);
    result.norm.num_batches_tracked = at::zeros({}, options.dtype(at::kLong));
    return result;
  }

  InvertedResidual block(at::ScalarType dtype, Values values = Values::normal) const {
    at::manual_seed(3);
    const std::int64_t hidden = shape().in * shape().expansion;
    const auto make = [&](const Convolution& convolution) { return layer(convolution, dtype, values); };
    InvertedResidual result;
    if (shape().expansion > 1) result.expand = make({.in = shape().in, .out = hidden});
    result.depthwise = make({.in = hidden, .out = hidden, .kernel = 3, .stride = shape().stride, .groups = hidden});
    result.project = make({.in = hidden, .out = shape().out});
    return result;
  }
  // The same values for all types: those of bfloat16.
  static at::Tensor drawn(at::IntArrayRef sizes, Values values) {
    return values == Values::whole ? at::randint(-2, 3, sizes).to(at::kDouble) : at::randn(sizes).to(at::kBFloat16);
  }
  at::Tensor images(std::int64_t rows, const Storage& as, Values values = Values::normal) const {
    at::manual_seed(4);
    return leaf(drawn({rows, shape().in, shape().height, shape().width}, values).to(as.dtype).contiguous(as.layout));
  }

  // Output, gradient of the input, then everything a block holds and the gradients.
  std::vector<at::Tensor> run(const NormContext& context, const Storage& as, std::int64_t rows = 3,
                              Values values = Values::normal) const {
    const InvertedResidual net = block(as.parameters(), values);
    const at::Tensor x = images(rows, as, values);
    at::Tensor y;
    {
      std::optional<test::AutocastScope> autocast;
      if (as.is_narrow()) autocast.emplace(as.dtype);
      y = net.forward(x, context);
    }
    at::manual_seed(5);
    (y * drawn(y.sizes(), values).to(as.dtype)).sum().backward();
    std::vector<at::Tensor> results{y, x.grad()};
    for (const ConvNorm* part : {net.expand ? &*net.expand : &net.project, &net.depthwise, &net.project})
      results.insert(results.end(), {part->weight.grad(), part->norm.weight.grad(), part->norm.bias.grad(),
                                     part->norm.running_mean, part->norm.running_var});
    return results;
  }

  static double distance(const at::Tensor& a, const at::Tensor& b) {
    const at::Tensor expected = b.to(at::kDouble);
    const double scale = std::sqrt(static_cast<double>(b.numel())) * 1e-3 + expected.norm().item<double>();
    return (a.to(at::kDouble) - expected).norm().item<double>() / scale;
  }
  static void expect_near(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b, double tolerance) {
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_LT(distance(a[i], b[i]), tolerance) << "result " << i;
  }
  // In 16 bits gradients jump where a value lies within a rounding of 0 or 6: a share of 2^-8 or so in bfloat16, hence
  // by sqrt(2^-8) = 0.06 of the norm; in float16 rarer, but in these small images a single jump is as much.
  double tolerance() const { return storage().is_narrow() ? 0.1 : storage().dtype == at::kDouble ? 1e-11 : 1e-4; }
};

TEST_P(InvertedResidualBlock, IsTheSameFusedAsFromAtensOperations) {
  ASSERT_TRUE(can_fuse(images(3, storage()), block(storage().parameters()), {}));
  // ATen rounds more often in 16 bits.
  const double near = storage().is_narrow() ? 2 * tolerance() : tolerance();
  for (const Statistics statistics : {Statistics::of_batch, Statistics::frozen})
    expect_near(run({.statistics = statistics}, storage()),
                run({.statistics = statistics, .kernels = Kernels::aten}, storage()), near);
}

TEST_P(InvertedResidualBlock, IsNearFloat64) {
  for (const Statistics statistics : {Statistics::of_batch, Statistics::frozen}) {
    const auto exact = run({.statistics = statistics, .kernels = Kernels::aten}, {at::kDouble, kNhwc});
    const auto results = run({.statistics = statistics}, storage());

    expect_near(results, exact, tolerance());
    // Rounded are the outputs of three convolutions and the end.
    EXPECT_LT(distance(results[0], exact[0]), storage().is_narrow() ? 4 * storage().rounding() : tolerance());
  }
}

TEST_P(InvertedResidualBlock, IsExactWhereTheArithmeticIs) {
  const NormContext frozen{.statistics = Statistics::frozen};
  const auto results = run(frozen, storage(), 3, Values::whole);
  const auto expected =
      run({.statistics = Statistics::frozen, .kernels = Kernels::aten}, {at::kDouble, kNchw}, 3, Values::whole);

  // Normalising by sqrt(1 - 1e-5 + 1e-5) is off by a rounding.
  for (const std::size_t i : {0, 1})
    EXPECT_TRUE(at::equal(results[i].to(at::kDouble).round(), expected[i].round().to(storage().dtype).to(at::kDouble)))
        << "result " << i;
  expect_near(results, expected, 1e-6);
}

TEST_P(InvertedResidualBlock, KeepsTypesAndLayout) {
  const auto results = run({}, storage());

  for (const std::size_t i : {0, 1}) {
    EXPECT_EQ(results[i].scalar_type(), storage().dtype);
    EXPECT_TRUE(results[i].is_contiguous(storage().layout));
  }
  for (std::size_t i = 2; i < results.size(); ++i)
    EXPECT_EQ(results[i].scalar_type(), storage().parameters()) << "result " << i;
}

TEST_P(InvertedResidualBlock, DoesNotDependOnTheNumberOfThreads) {
  const auto one = run({}, storage(), 20);
  at::set_num_threads(3);
  const auto three = run({}, storage(), 20);
  at::set_num_threads(1);

  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(at::equal(one[i], three[i])) << "result " << i;
}

// Gradients of the input and of weight, scale and shift of each layer, in order, where `is_trained` of their number.
std::vector<at::Tensor> gradients_of(const at::Tensor& x, InvertedResidual& net, const NormContext& context,
                                     const std::function<bool(std::size_t)>& is_trained) {
  std::vector<at::Tensor> tensors{x};
  for (ConvNorm* part : {net.expand ? &*net.expand : nullptr, &net.depthwise, &net.project})
    if (part) tensors.insert(tensors.end(), {part->weight, part->norm.weight, part->norm.bias});
  for (std::size_t i = 0; i < tensors.size(); ++i)
    tensors[i].requires_grad_(is_trained(i));
  const at::Tensor y = fused_inverted_residual(x, net, context);
  at::manual_seed(6);
  return (*y.grad_fn())({at::randn(y.sizes()).to(y.scalar_type())});
}

TEST_P(InvertedResidualBlock, ComputesTheGradientsOfWhatIsTrainedOnly) {
  const at::Tensor x = images(3, storage());
  InvertedResidual net = block(storage().parameters());
  for (const Statistics statistics : {Statistics::of_batch, Statistics::frozen}) {
    const NormContext context{.statistics = statistics};
    const auto all = gradients_of(x, net, context, [](std::size_t) { return true; });
    const auto expect_part_of_all = [&](const std::function<bool(std::size_t)>& is_trained) {
      const auto part = gradients_of(x, net, context, is_trained);
      ASSERT_EQ(part.size(), all.size());
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(part[i].defined(), is_trained(i)) << i;
        if (is_trained(i)) {
          EXPECT_TRUE(at::equal(part[i], all[i])) << i;
        }
      }
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      expect_part_of_all([&](std::size_t k) { return k == i; });
      expect_part_of_all([&](std::size_t k) { return k != i; });
      expect_part_of_all([&](std::size_t k) { return k >= i; });  // the layers below are frozen
    }
  }
}

TEST_P(InvertedResidualBlock, TakesNoRows) {
  const auto results = run({}, storage(), 0);

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
                                          testing::Values(Storage{at::kDouble, kNhwc}, Storage{at::kFloat, kNhwc},
                                                          Storage{at::kFloat, kNchw}, Storage{at::kBFloat16, kNhwc},
                                                          Storage{at::kBFloat16, kNchw}, Storage{at::kHalf, kNhwc},
                                                          Storage{at::kHalf, kNchw})),
                         [](const auto& instance) {
                           const Case& shape = std::get<0>(instance.param);
                           const Storage& storage = std::get<1>(instance.param);
                           const bool is_nhwc = storage.layout == kNhwc;
                           return std::string(at::toString(storage.dtype)) + (is_nhwc ? "Nhwc" : "Nchw") +
                                  std::to_string(shape.in) + "To" + std::to_string(shape.out) + "By" +
                                  std::to_string(shape.stride);
                         });

TEST(InvertedResidualUnderAutocast, FusesInputsOfItsTypeOnly) {
  InvertedResidual block;
  block.depthwise.weight = at::zeros({8, 1, 3, 3});
  const at::Tensor wide = at::zeros({1, 8, 4, 4}), narrow = wide.to(at::kBFloat16);
  EXPECT_TRUE(can_fuse(wide, block, {}));
  EXPECT_FALSE(can_fuse(wide.to(at::kDouble), block, {}));
  EXPECT_TRUE(can_fuse(wide.to(at::kHalf), block, {}));
  const test::AutocastScope autocast(at::kBFloat16);
  EXPECT_TRUE(can_fuse(narrow, block, {}));
  EXPECT_FALSE(can_fuse(wide, block, {}));
  EXPECT_FALSE(can_fuse(wide.to(at::kHalf), block, {}));
}

}  // namespace
}  // namespace multicard
