#include "nn/vision/BatchNormAct.hpp"

#include <optional>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "replicas.hpp"

namespace multicard {
namespace {

struct Case {
  at::ScalarType dtype;
  at::MemoryFormat layout;
  std::int64_t channels;
};

// One layer with its input, and the gradients that a fixed weighting of its output gives.
struct Layer {
  NormTensors norm;
  at::Tensor x, residual, y;
  NormContext context;

  at::Tensor forward(Activation activation) {
    y = residual.defined() ? batch_norm_add(x, norm, context, residual) : batch_norm_act(x, norm, context, activation);
    return y;
  }
  void backward(const at::Tensor& dy) { (y * dy).sum().backward(); }
};

at::Tensor leaf(const at::Tensor& value) {
  return value.detach().clone().requires_grad_(true);
}

// Values far from zero in some channels, outside [0, 6] after the normalisation in others.
Layer make_layer(const at::Tensor& x, std::uint64_t seed = 0) {
  const std::int64_t channels = x.size(1);
  const auto options = x.options().dtype(x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  at::manual_seed(seed);
  Layer layer;
  layer.x = leaf(x);
  layer.norm.weight = leaf(at::rand({channels}, options) * 4 - 1);
  layer.norm.bias = leaf(at::rand({channels}, options) * 3);
  layer.norm.running_mean = at::randn({channels}, options);
  layer.norm.running_var = at::rand({channels}, options) + 0.5;
  layer.norm.num_batches_tracked = at::zeros({}, options.dtype(at::kLong));
  return layer;
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).to(at::kDouble).norm() / (b.to(at::kDouble).norm() + 1e-6)).item<double>();
}

class BatchNormAct : public testing::TestWithParam<Case> {
 protected:
  at::Tensor images(std::int64_t rows = 5, std::int64_t height = 7, std::int64_t width = 9) const {
    at::manual_seed(11);
    const auto options = at::TensorOptions().dtype(GetParam().dtype);
    const at::Tensor scale = at::rand({1, GetParam().channels, 1, 1}, options) * 3 + 0.1;
    const at::Tensor mean = at::randn({1, GetParam().channels, 1, 1}, options) * 5;
    return (at::randn({rows, GetParam().channels, height, width}, options) * scale + mean)
        .contiguous(GetParam().layout);
  }
  double tolerance() const { return GetParam().dtype == at::kDouble ? 1e-12 : 2e-5; }

  // Compares own kernels with ATen's operations.
  void expect_same(Layer own, Layer reference, Activation activation) const {
    own.context.kernels = Kernels::automatic;
    reference.context.kernels = Kernels::aten;
    const at::Tensor dy = at::randn_like(own.x);

    own.forward(activation);
    own.backward(dy);
    reference.forward(activation);
    reference.backward(dy);

    EXPECT_LT(distance(own.y, reference.y), tolerance());
    EXPECT_LT(distance(own.x.grad(), reference.x.grad()), tolerance());
    EXPECT_LT(distance(own.norm.weight.grad(), reference.norm.weight.grad()), tolerance());
    EXPECT_LT(distance(own.norm.bias.grad(), reference.norm.bias.grad()), tolerance());
    EXPECT_LT(distance(own.norm.running_mean, reference.norm.running_mean), tolerance());
    EXPECT_LT(distance(own.norm.running_var, reference.norm.running_var), tolerance());
    EXPECT_TRUE(at::equal(own.norm.num_batches_tracked, reference.norm.num_batches_tracked));
    EXPECT_TRUE(own.y.is_contiguous(GetParam().layout));
    if (!own.residual.defined()) return;
    EXPECT_TRUE(at::equal(own.residual.grad(), dy));
  }
};

TEST_P(BatchNormAct, IsAtensNormalisationAndRelu6) {
  expect_same(make_layer(images()), make_layer(images()), Activation::relu6);
  expect_same(make_layer(images()), make_layer(images()), Activation::none);
}

TEST_P(BatchNormAct, AddsAResidual) {
  Layer own = make_layer(images()), reference = make_layer(images());
  own.residual = leaf(images());
  reference.residual = leaf(images());
  expect_same(own, reference, Activation::none);
}

TEST_P(BatchNormAct, KeepsFrozenStatisticsButTrainsWeightAndBias) {
  Layer own = make_layer(images()), reference = make_layer(images());
  own.context.statistics = reference.context.statistics = Statistics::frozen;
  const at::Tensor before = own.norm.running_var.clone();

  expect_same(own, reference, Activation::relu6);

  EXPECT_TRUE(at::equal(own.norm.running_var, before));
  EXPECT_GT(own.norm.weight.grad().norm().item<double>(), 0.0);
}

TEST_P(BatchNormAct, ComputesTheGradientsOfWhatIsTrainedOnly) {
  const at::Tensor dy = at::randn_like(images());
  const auto gradients = [&](Statistics statistics, unsigned trained) {
    Layer layer = make_layer(images());
    layer.context.statistics = statistics;
    layer.x.requires_grad_(trained & 1U);
    layer.norm.weight.requires_grad_(trained & 2U);
    layer.norm.bias.requires_grad_(trained & 4U);
    return (*layer.forward(Activation::relu6).grad_fn())({dy});
  };

  for (const Statistics statistics : {Statistics::of_batch, Statistics::frozen}) {
    const auto all = gradients(statistics, 7);
    for (unsigned trained = 1; trained < 7; ++trained) {
      const auto part = gradients(statistics, trained);
      ASSERT_EQ(part.size(), 3U);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(part[i].defined(), (trained >> i & 1U) == 1U) << trained;
        if (part[i].defined()) {
          EXPECT_TRUE(at::equal(part[i], all[i])) << trained;
        }
      }
    }
  }
}

TEST_P(BatchNormAct, EvaluatesWithRunningStatistics) {
  Layer own = make_layer(images()), reference = make_layer(images());
  own.context.mode = reference.context.mode = Mode::evaluate;
  expect_same(own, reference, Activation::relu6);
}

TEST_P(BatchNormAct, LeavesRunningStatisticsAloneForASingleValue) {
  for (const Kernels kernels : {Kernels::automatic, Kernels::aten}) {
    Layer layer = make_layer(images(1, 1, 1));
    layer.context.kernels = kernels;
    const at::Tensor mean = layer.norm.running_mean.clone(), variance = layer.norm.running_var.clone();

    layer.forward(Activation::none);

    EXPECT_TRUE(at::equal(layer.norm.running_mean, mean));
    EXPECT_TRUE(at::equal(layer.norm.running_var, variance));
    EXPECT_EQ(layer.norm.num_batches_tracked.item<std::int64_t>(), 0);
    // ATen rounds x * scale and mean * scale apart, here with a scale of up to 3 / sqrt(1e-5).
    EXPECT_LT(distance(layer.y.flatten(), layer.norm.bias), 100 * tolerance());
  }
}

TEST_P(BatchNormAct, TakesNoRows) {
  for (const Kernels kernels : {Kernels::automatic, Kernels::aten}) {
    Layer layer = make_layer(images(0));
    layer.context.kernels = kernels;
    const at::Tensor mean = layer.norm.running_mean.clone();

    layer.forward(Activation::relu6);
    layer.backward(layer.y.detach());

    EXPECT_EQ(layer.y.sizes(), layer.x.sizes());
    EXPECT_EQ(layer.norm.weight.grad().norm().item<double>(), 0.0);
    EXPECT_EQ(layer.norm.bias.grad().norm().item<double>(), 0.0);
    EXPECT_TRUE(at::equal(layer.norm.running_mean, mean));
    EXPECT_EQ(layer.norm.num_batches_tracked.item<std::int64_t>(), 0);
  }
}

TEST_P(BatchNormAct, SynchronisesItsStatisticsOverReplicas) {
  const at::Tensor x = images(), dy = at::randn_like(x);
  Layer whole = make_layer(x);
  whole.forward(Activation::relu6);
  whole.backward(dy);
  // 5 rows on replicas of 3, 0 and 2.
  const std::vector<std::int64_t> first{0, 3, 3}, count{3, 0, 2};

  for (const Kernels kernels : {Kernels::automatic, Kernels::aten}) {
    test::ThreadReducer reducer(3);
    std::vector<Layer> parts;
    for (std::size_t i = 0; i < 3; ++i) {
      parts.push_back(make_layer(x.narrow(0, first[i], count[i])));
      parts.back().context.reducer = &reducer;
      parts.back().context.kernels = kernels;
    }
    reducer.run([&](std::size_t i) {
      parts[i].forward(Activation::relu6);
      parts[i].backward(dy.narrow(0, first[i], count[i]));
    });

    const auto joined = [&](auto tensor) { return at::cat({tensor(parts[0]), tensor(parts[1]), tensor(parts[2])}); };
    const auto summed = [&](auto tensor) { return tensor(parts[0]) + tensor(parts[1]) + tensor(parts[2]); };
    const double near = GetParam().dtype == at::kDouble ? 1e-10 : 2e-5;
    EXPECT_LT(distance(joined([](const Layer& l) { return l.y; }), whole.y), near);
    EXPECT_LT(distance(joined([](const Layer& l) { return l.x.grad(); }), whole.x.grad()), near);
    EXPECT_LT(distance(summed([](const Layer& l) { return l.norm.weight.grad(); }), whole.norm.weight.grad()), near);
    EXPECT_LT(distance(summed([](const Layer& l) { return l.norm.bias.grad(); }), whole.norm.bias.grad()), near);
    for (const Layer& part : parts) {
      EXPECT_LT(distance(part.norm.running_mean, whole.norm.running_mean), near);
      EXPECT_LT(distance(part.norm.running_var, whole.norm.running_var), near);
      EXPECT_EQ(part.norm.num_batches_tracked.item<std::int64_t>(), 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, BatchNormAct,
                         testing::Values(Case{at::kDouble, at::MemoryFormat::Contiguous, 3},
                                         Case{at::kDouble, at::MemoryFormat::ChannelsLast, 3},
                                         Case{at::kDouble, at::MemoryFormat::ChannelsLast, 21},
                                         Case{at::kFloat, at::MemoryFormat::Contiguous, 24},
                                         Case{at::kFloat, at::MemoryFormat::ChannelsLast, 24},
                                         Case{at::kFloat, at::MemoryFormat::ChannelsLast, 43}),
                         [](const auto& instance) {
                           const Case& c = instance.param;
                           return std::string(c.dtype == at::kDouble ? "Float64" : "Float32") +
                                  (c.layout == at::MemoryFormat::Contiguous ? "Nchw" : "Nhwc") +
                                  std::to_string(c.channels);
                         });

// The largest distance beyond half a unit in the last place of a's type, relative to the scale of the values.
double distance_beyond_rounding(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor rounded = a.to(at::kDouble), exact = b.to(at::kDouble);
  const double half_a_unit = a.scalar_type() == at::kBFloat16 ? 0x1.0p-8 : 0x1.0p-11;
  return ((rounded - exact).abs() - half_a_unit * exact.abs()).max().item<double>() / exact.abs().max().item<double>();
}

class BatchNormActIn16Bits : public testing::TestWithParam<std::tuple<at::ScalarType, at::MemoryFormat, std::int64_t>> {
 protected:
  at::ScalarType dtype() const { return std::get<0>(GetParam()); }

  // Of the values of bfloat16, in the type of 16 bits and in float32.
  std::pair<Layer, Layer> layers(const at::Tensor& residual = {}) const {
    const auto& [dtype, layout, channels] = GetParam();
    at::manual_seed(12);
    const at::Tensor x = (at::randn({5, channels, 7, 9}) * 2 + 1).to(at::kBFloat16).to(dtype).contiguous(layout);
    std::pair<Layer, Layer> result{make_layer(x), make_layer(x.to(at::kFloat))};
    if (!residual.defined()) return result;
    result.first.residual = leaf(residual.to(dtype).contiguous(layout));
    result.second.residual = leaf(residual.to(at::kFloat).contiguous(layout));
    return result;
  }

  void expect_rounded(Layer narrow, Layer wide, Activation activation) const {
    const at::Tensor dy = at::randn(narrow.x.sizes()).to(at::kBFloat16).to(dtype());
    narrow.forward(activation);
    narrow.backward(dy);
    wide.forward(activation);
    wide.backward(dy.to(at::kFloat));

    EXPECT_EQ(narrow.y.scalar_type(), dtype());
    EXPECT_EQ(narrow.x.grad().scalar_type(), dtype());
    EXPECT_LT(distance_beyond_rounding(narrow.y, wide.y), 1e-6);
    EXPECT_LT(distance_beyond_rounding(narrow.x.grad(), wide.x.grad()), 1e-6);
    for (const auto& tensor : {&NormTensors::running_mean, &NormTensors::running_var})
      EXPECT_LT(distance(narrow.norm.*tensor, wide.norm.*tensor), 1e-6);
    for (const auto& tensor : {&NormTensors::weight, &NormTensors::bias}) {
      EXPECT_EQ((narrow.norm.*tensor).grad().scalar_type(), at::kFloat);
      EXPECT_LT(distance((narrow.norm.*tensor).grad(), (wide.norm.*tensor).grad()), 1e-5);
    }
  }
};

TEST_P(BatchNormActIn16Bits, RoundsTheResultsOfFloat32) {
  for (const Activation activation : {Activation::none, Activation::relu6}) {
    auto [narrow, wide] = layers();
    expect_rounded(narrow, wide, activation);
  }
}

TEST_P(BatchNormActIn16Bits, RoundsTheSumWithAResidualOnce) {
  auto [narrow, wide] = layers(at::randn({5, std::get<2>(GetParam()), 7, 9}).to(at::kBFloat16));
  expect_rounded(narrow, wide, Activation::none);
}

TEST_P(BatchNormActIn16Bits, RoundsWithFrozenStatistics) {
  auto [narrow, wide] = layers();
  narrow.context.statistics = wide.context.statistics = Statistics::frozen;
  expect_rounded(narrow, wide, Activation::relu6);
}

INSTANTIATE_TEST_SUITE_P(Inputs, BatchNormActIn16Bits,
                         testing::Combine(testing::Values(at::kBFloat16, at::kHalf),
                                          testing::Values(at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast),
                                          testing::Values(3, 24, 43)));

TEST(BatchNormActGradient, IsThatOfFiniteDifferences) {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor x = at::randn({2, 3, 2, 3}, options), dy = at::randn({2, 3, 2, 3}, options);
  Layer layer = make_layer(x);
  layer.forward(Activation::relu6);
  layer.backward(dy);
  const auto loss = [&](const at::Tensor& shifted) {
    Layer other = make_layer(shifted);
    return (other.forward(Activation::relu6) * dy).sum().item<double>();
  };

  constexpr double kStep = 1e-6;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    at::Tensor shift = at::zeros({x.numel()}, options);
    shift[i].fill_(kStep);
    shift = shift.view(x.sizes());
    const double slope = (loss(x + shift) - loss(x - shift)) / (2 * kStep);
    EXPECT_NEAR(layer.x.grad().flatten()[i].item<double>(), slope, 1e-6);
  }
}

TEST(BatchNormActStatistics, KeepTheirPrecisionFarFromZero) {
  at::manual_seed(5);
  const at::Tensor exact = at::randn({64, 16, 20, 20}, at::TensorOptions().dtype(at::kDouble)) * 0.1 + 1000.0;
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const at::Tensor x = exact.to(at::kFloat).contiguous(format);
    Layer layer = make_layer(x);
    const at::Tensor before = layer.norm.running_var.clone();

    layer.forward(Activation::none);

    const at::Tensor variance = (layer.norm.running_var - before * 0.9) / 0.1;
    const at::Tensor expected = x.to(at::kDouble).transpose(0, 1).flatten(1).var(1);
    EXPECT_LT(distance(variance, expected), 2e-4);  // the running value itself is rounded to float32
  }
}

}  // namespace
}  // namespace multicard
