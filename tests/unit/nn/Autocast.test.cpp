#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "autocast_scope.hpp"
#include "formula.hpp"
#include "nn/losses/Losses.hpp"
#include "nn/vision/NetworkFactory.hpp"
#include "replicas.hpp"

namespace multicard {
namespace {

constexpr auto kNhwc = at::MemoryFormat::ChannelsLast, kNchw = at::MemoryFormat::Contiguous;

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a.to(at::kDouble) - b.to(at::kDouble)).norm() / b.to(at::kDouble).norm()).item<double>();
}

double rounding(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? 0x1.0p-8 : 0x1.0p-11;
}

// The input rounded to `dtype`, everything else in float32.
struct Layer {
  NormTensors norm;
  at::Tensor x, residual, y;

  Layer(at::ScalarType dtype, at::MemoryFormat layout, std::int64_t rows) {
    at::manual_seed(7);
    constexpr std::int64_t kChannels = 24;
    const auto leaf = [](const at::Tensor& value) { return value.detach().clone().requires_grad_(true); };
    x = leaf((at::randn({rows, kChannels, 6, 5}) * 2 + 1).to(at::kBFloat16).to(dtype).contiguous(layout));
    residual = leaf(at::randn({rows, kChannels, 6, 5}).to(at::kBFloat16).to(dtype).contiguous(layout));
    norm = {leaf(at::rand({kChannels}) + 0.5), leaf(at::rand({kChannels})), at::randn({kChannels}),
            at::rand({kChannels}) + 0.5, at::zeros({}, at::TensorOptions().dtype(at::kLong))};
  }
  void pass(const NormContext& context, Activation activation, bool adds) {
    y = adds ? batch_norm_add(x, norm, context, residual, activation) : batch_norm_act(x, norm, context, activation);
    at::manual_seed(8);
    (y * at::randn(y.sizes()).to(at::kBFloat16).to(y.scalar_type())).sum().backward();
  }
};

class LowPrecisionNorm : public testing::TestWithParam<std::tuple<at::ScalarType, at::MemoryFormat, bool>> {
 protected:
  at::ScalarType dtype() const { return std::get<0>(GetParam()); }
  at::MemoryFormat layout() const { return std::get<1>(GetParam()); }
  bool synchronises() const { return std::get<2>(GetParam()); }

  // `layer` passes in low precision, a copy in float32.
  void expect_near_float32(NormContext context, Activation activation, bool adds) const {
    test::ThreadReducer reducer(1);
    Layer layer(dtype(), layout(), 4), reference(at::kFloat, layout(), 4);
    context.reducer = synchronises() ? &reducer : nullptr;
    reducer.run([&](std::size_t) { layer.pass(context, activation, adds); });
    context.reducer = nullptr;
    reference.pass(context, activation, adds);

    EXPECT_EQ(layer.y.scalar_type(), dtype());
    EXPECT_TRUE(layer.y.is_contiguous(layout()));
    EXPECT_EQ(layer.x.grad().scalar_type(), dtype());
    EXPECT_EQ(layer.norm.weight.grad().scalar_type(), at::kFloat);
    EXPECT_EQ(layer.norm.running_mean.scalar_type(), at::kFloat);
    const double near = 2 * rounding(dtype());
    EXPECT_LT(distance(layer.y, reference.y), near);
    EXPECT_LT(distance(layer.x.grad(), reference.x.grad()), 2 * near);
    EXPECT_LT(distance(layer.norm.weight.grad(), reference.norm.weight.grad()), near);
    EXPECT_LT(distance(layer.norm.bias.grad(), reference.norm.bias.grad()), near);
    // Statistics are those of the input, which is exact in both.
    EXPECT_LT(distance(layer.norm.running_mean, reference.norm.running_mean), 1e-5);
    EXPECT_LT(distance(layer.norm.running_var, reference.norm.running_var), 1e-5);
    if (adds) {
      EXPECT_EQ(layer.residual.grad().scalar_type(), dtype());
      EXPECT_LT(distance(layer.residual.grad(), reference.residual.grad()), near);
    }
  }
};

TEST_P(LowPrecisionNorm, KeepsParametersAndStatisticsInFloat32) {
  for (const Activation activation : {Activation::none, Activation::relu, Activation::relu6, Activation::silu})
    expect_near_float32({}, activation, false);
  expect_near_float32({}, Activation::none, true);
  expect_near_float32({.statistics = Statistics::frozen}, Activation::silu, false);
  expect_near_float32({.mode = Mode::evaluate}, Activation::relu, false);
}

TEST_P(LowPrecisionNorm, TakesNoRows) {
  test::ThreadReducer reducer(1);
  Layer layer(dtype(), layout(), 0);
  const NormContext context{.reducer = synchronises() ? &reducer : nullptr};

  reducer.run([&](std::size_t) { layer.pass(context, Activation::relu, true); });

  EXPECT_EQ(layer.y.scalar_type(), dtype());
  EXPECT_EQ(layer.norm.weight.grad().norm().item<double>(), 0.0);
  EXPECT_EQ(layer.norm.num_batches_tracked.item<std::int64_t>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Types, LowPrecisionNorm,
                         testing::Combine(testing::Values(at::kBFloat16, at::kHalf), testing::Values(kNchw, kNhwc),
                                          testing::Bool()),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param) == at::kHalf ? "Float16" : "Bfloat16") +
                                  (std::get<1>(instance.param) == kNchw ? "Nchw" : "Nhwc") +
                                  (std::get<2>(instance.param) ? "Synchronised" : "");
                         });

using NetworkCase = std::tuple<std::string, at::ScalarType, at::MemoryFormat>;

class NetworkUnderAutocast : public testing::TestWithParam<NetworkCase> {
 protected:
  at::ScalarType dtype() const { return std::get<1>(GetParam()); }

  std::unique_ptr<Network> network() const {
    const std::string& name = std::get<0>(GetParam());
    NetworkOptions options{.classes = test::kFormulaClasses, .dropout = 0.0};
    if (name == "mobilenet_v2") options.width = 0.25;
    if (name == "efficientnet_b0") options.stochastic_depth = 0.0;
    auto result = make_network(name, options);
    result->to(at::kCPU, at::kFloat, std::get<2>(GetParam()));
    test::fill_by_formula(*result);
    return result;
  }
  at::Tensor forward(Network& network) const {
    const test::AutocastScope autocast(dtype());
    return network.forward(images());
  }
  at::Tensor images() const { return test::formula_images().to(at::kFloat).contiguous(std::get<2>(GetParam())); }
};

TEST_P(NetworkUnderAutocast, EvaluatesNearFloat32) {
  const at::NoGradGuard no_grad;
  const auto reference = network(), lower = network();
  reference->set_training(Mode::evaluate);
  lower->set_training(Mode::evaluate);

  EXPECT_LT(distance(forward(*lower), reference->forward(images())), 64 * rounding(dtype()));
}

TEST_P(NetworkUnderAutocast, TrainsNearFloat32AndKeepsTheTypesOfItsState) {
  const auto reference = network(), lower = network();
  test::ThreadReducer reducer(1);
  const at::Tensor expected = reference->forward(images());

  for (StatisticsReducer* used : std::initializer_list<StatisticsReducer*>{nullptr, &reducer}) {
    lower->set_statistics_reducer(used);
    at::Tensor logits;
    reducer.run([&](std::size_t) {
      logits = forward(*lower);
      cross_entropy(logits, test::formula_labels(), test::kFormulaRows).backward();
    });

    EXPECT_EQ(logits.scalar_type(), dtype());
    // Statistics over the last few pixels amplify roundings.
    EXPECT_LT(distance(logits, expected), 128 * rounding(dtype()));
  }
  for (const NamedTensor& parameter : lower->parameters()) {
    EXPECT_EQ(parameter.tensor.grad().scalar_type(), at::kFloat) << parameter.name;
    EXPECT_TRUE(parameter.tensor.grad().isfinite().all().item<bool>()) << parameter.name;
  }
  for (const NamedTensor& buffer : lower->buffers())
    EXPECT_EQ(buffer.tensor.scalar_type(), buffer.name.ends_with("tracked") ? at::kLong : at::kFloat) << buffer.name;
}

INSTANTIATE_TEST_SUITE_P(
    Networks, NetworkUnderAutocast,
    testing::Values(NetworkCase{"mobilenet_v2", at::kBFloat16, kNhwc}, NetworkCase{"mobilenet_v2", at::kHalf, kNhwc},
                    NetworkCase{"mobilenet_v2", at::kHalf, kNchw}, NetworkCase{"resnet18", at::kBFloat16, kNchw},
                    NetworkCase{"resnet18", at::kHalf, kNhwc}, NetworkCase{"efficientnet_b0", at::kBFloat16, kNhwc},
                    NetworkCase{"efficientnet_b0", at::kHalf, kNchw}),
    [](const auto& instance) {
      return std::get<0>(instance.param) + (std::get<1>(instance.param) == at::kHalf ? "_float16" : "_bfloat16") +
             (std::get<2>(instance.param) == kNhwc ? "_nhwc" : "_nchw");
    });

// The losses of some updates by hand, with the loss multiplied by `scale` before backward.
std::vector<double> losses_of(const std::string& name, at::ScalarType dtype, double scale) {
  NetworkOptions options{.classes = test::kFormulaClasses, .dropout = 0.0};
  if (name == "mobilenet_v2") options.width = 0.25;
  const auto network = make_network(name, options);
  network->to(at::kCPU, at::kFloat, kNhwc);
  const at::Tensor images = test::formula_images().to(at::kFloat).contiguous(kNhwc);
  std::vector<double> losses;
  for (int step = 0; step < 6; ++step) {
    at::Tensor loss;
    {
      std::optional<test::AutocastScope> autocast;
      if (dtype != at::kFloat) autocast.emplace(dtype);
      loss = cross_entropy(network->forward(images), test::formula_labels(), test::kFormulaRows);
    }
    losses.push_back(loss.item<double>());
    (loss * scale).backward();
    const at::NoGradGuard no_grad;
    for (const NamedTensor& parameter : network->parameters()) {
      at::Tensor value = parameter.tensor;
      value.sub_(value.grad(), 0.005 / scale);
      value.mutable_grad().reset();
    }
  }
  return losses;
}

// Gradients of MobileNetV2 jump wherever a rounding carries a value over 0 or 6: after a few updates the losses go
// apart.
TEST(Float16, TrainsAsFloat32DoesWithAScaledLoss) {
  const std::pair<const char*, double> cases[] = {{"mobilenet_v2", 0.1}, {"resnet18", 0.02}};
  for (const auto& [name, near] : cases) {
    const std::vector<double> exact = losses_of(name, at::kFloat, 1), found = losses_of(name, at::kHalf, 1024);
    EXPECT_LT(found.back(), 0.8 * found.front()) << name;
    for (std::size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(found[i], exact[i], near * exact[0]) << name << i;
  }
}

TEST(Float16, OverflowsInGradientsAreSeen) {
  const auto network = make_network("mobilenet_v2", {.width = 0.25, .classes = test::kFormulaClasses, .dropout = 0.0});
  network->to(at::kCPU, at::kFloat, kNhwc);
  const at::Tensor images = test::formula_images().to(at::kFloat).contiguous(kNhwc);
  at::Tensor loss;
  {
    const test::AutocastScope autocast(at::kHalf);
    loss = cross_entropy(network->forward(images), test::formula_labels(), test::kFormulaRows);
  }
  (loss * 1e9).backward();

  for (const NamedTensor& parameter : network->parameters())
    EXPECT_FALSE(parameter.tensor.grad().isfinite().all().item<bool>()) << parameter.name;
}

class ConvolutionInFloat16 : public testing::TestWithParam<Convolution> {};

// What a GPU does: factors of 16 bits, sums in float32, one rounding.
TEST_P(ConvolutionInFloat16, RoundsTheResultsOfFloat32Once) {
  at::manual_seed(3);
  const Convolution& shape = GetParam();
  const auto leaf = [](const at::Tensor& value) { return value.detach().clone().requires_grad_(true); };
  const at::Tensor images = at::randn({2, shape.in, 9, 8}).to(at::kHalf).contiguous(kNhwc);
  const at::Tensor filters = at::randn({shape.out, shape.in / shape.groups, shape.kernel, shape.kernel});
  const at::Tensor x = leaf(images), weight = leaf(filters), wide_x = leaf(images.to(at::kFloat)),
                   wide_weight = leaf(filters.to(at::kHalf).to(at::kFloat));
  at::Tensor y;
  {
    const test::AutocastScope autocast(at::kHalf);
    y = convolve(x, weight, shape);
  }
  const at::Tensor wide_y = convolve(wide_x, wide_weight, shape), dy = at::randn(y.sizes()).to(at::kHalf);
  y.backward(dy);
  wide_y.backward(dy.to(at::kFloat));

  EXPECT_EQ(y.scalar_type(), at::kHalf);
  EXPECT_TRUE(y.is_contiguous(kNhwc));
  EXPECT_TRUE(at::equal(y, wide_y.to(at::kHalf)));
  EXPECT_TRUE(at::equal(x.grad(), wide_x.grad().to(at::kHalf)));
  EXPECT_EQ(weight.grad().scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(weight.grad(), wide_weight.grad().to(at::kHalf).to(at::kFloat)));
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvolutionInFloat16,
                         testing::Values(Convolution{.in = 3, .out = 8, .kernel = 3, .stride = 2},
                                         Convolution{.in = 8, .out = 16},
                                         Convolution{.in = 8, .out = 8, .kernel = 5, .groups = 8}));

}  // namespace
}  // namespace multicard
