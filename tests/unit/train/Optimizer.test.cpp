#include <cmath>
#include <fstream>
#include <functional>
#include <stdexcept>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mv.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/BFloat16.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "optimizers.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using nlohmann::json;

json read_json(const std::string& name) {
  std::ifstream in(test::source_path("tests/data/oracles/optimisation/" + name));
  return json::parse(in);
}

/// A JSON array of numbers, nested to any depth.
at::Tensor tensor_of(const json& values, at::ScalarType type) {
  std::vector<std::int64_t> shape;
  for (const json* level = &values; level->is_array(); level = &level->front())
    shape.push_back(static_cast<std::int64_t>(level->size()));
  std::vector<double> numbers;
  const std::function<void(const json&)> collect = [&](const json& part) {
    if (!part.is_array()) return numbers.push_back(part.get<double>());
    for (const json& inner : part)
      collect(inner);
  };
  collect(values);
  return at::tensor(numbers, at::kDouble).reshape(shape).to(type);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return a.to(at::kDouble).sub(b.to(at::kDouble)).abs().max().item<double>();
}

OptimizerOptions options_of(const json& one) {
  const json& settings = one["settings"];
  OptimizerOptions options;
  options.name = one["class"] == "SGD" ? OptimizerName::sgd : OptimizerName::adamw;
  options.momentum = settings.value("momentum", 0.0);
  options.nesterov = settings.value("nesterov", false);
  options.weight_decay = settings.value("weight_decay", 0.0);
  options.eps = settings.value("eps", options.eps);
  if (settings.contains("betas")) {
    options.beta1 = settings["betas"][0];
    options.beta2 = settings["betas"][1];
  }
  return options;
}

/// The little problem of the reference values, in two parameters so that lists of tensors are exercised.
struct Problem {
  explicit Problem(const json& about, at::ScalarType type)
      : A(tensor_of(about["A"], type)),
        b(tensor_of(about["b"], type)),
        x(tensor_of(about["x0"], type)),
        gradient(at::zeros_like(x)) {}

  NamedTensors parameters() const { return {{"head", x.slice(0, 0, 2)}, {"tail", x.slice(0, 2)}}; }
  std::vector<at::Tensor> gradients() const { return {gradient.slice(0, 0, 2), gradient.slice(0, 2)}; }
  /// Of 0.5 mean((A x - b)^2) + 0.05 sum(x^4).
  void differentiate() {
    const at::Tensor residual = at::mv(A, x).sub(b);
    gradient.copy_(at::mv(A.t(), residual).div(A.size(0)).add(x.pow(3), 0.2));
  }

  at::Tensor A, b, x, gradient;
};

class TorchCase : public testing::TestWithParam<const char*> {};

TEST_P(TorchCase, FollowsTheReferenceInFloat64) {
  const json oracle = read_json("optimisers.json");
  const json& one = oracle["cases"][GetParam()];
  Problem problem(oracle["about"], at::kDouble);
  const std::unique_ptr<Optimizer> optimizer = optimizer_of(options_of(one), problem.parameters(), problem.gradients());

  for (std::size_t s = 0; s < 25; ++s) {
    problem.differentiate();
    if (one["clip"].is_number()) {
      const double norm = clip(*optimizer, one["clip"]);
      EXPECT_NEAR(norm, one["float64"]["grad_norm_before_clip"][s].get<double>(), 1e-12) << "step " << s;
    }
    optimizer->step(one["settings"]["lr"]);

    EXPECT_LE(largest_difference(problem.x, tensor_of(one["float64"]["x"][s + 1], at::kDouble)), 1e-12) << "step " << s;
  }
}

TEST_P(TorchCase, EndsAtTheReferenceInFloat32) {
  const json oracle = read_json("optimisers.json");
  const json& one = oracle["cases"][GetParam()];
  Problem problem(oracle["about"], at::kFloat);
  const std::unique_ptr<Optimizer> optimizer = optimizer_of(options_of(one), problem.parameters(), problem.gradients());

  for (int s = 0; s < 25; ++s) {
    problem.differentiate();
    if (one["clip"].is_number()) clip(*optimizer, one["clip"]);
    optimizer->step(one["settings"]["lr"]);
  }

  EXPECT_LE(largest_difference(problem.x, tensor_of(one["float32_last_x"], at::kDouble)), 5e-6);
}

INSTANTIATE_TEST_SUITE_P(Optimizer, TorchCase,
                         testing::Values("sgd", "sgd_momentum", "sgd_momentum_clip0.25", "sgd_nesterov",
                                         "sgd_momentum_wd", "sgd_nesterov_wd", "adamw", "adamw_clip0.25", "adamw_b2",
                                         "adamw_nowd"));

/// What torch's fused AdamW does to one value of bfloat16: in float32, each result rounded once.
struct Bfloat16Adamw {
  c10::BFloat16 value, first = 0, second = 0;

  void step(const OptimizerOptions& options, float gradient, double learning_rate, int number) {
    const auto rate = static_cast<float>(learning_rate);
    float x = value;
    x -= rate * static_cast<float>(options.weight_decay) * x;
    const float m = first + static_cast<float>(1 - options.beta1) * (gradient - first);
    const float v =
        static_cast<float>(options.beta2) * second + static_cast<float>(1 - options.beta2) * gradient * gradient;
    const double correction1 = 1 - std::pow(options.beta1, number), correction2 = 1 - std::pow(options.beta2, number);
    const auto size = static_cast<float>(learning_rate / correction1);
    const float denominator =
        std::sqrt(v) / static_cast<float>(std::sqrt(correction2)) + static_cast<float>(options.eps);
    value = x - size * m / denominator;
    first = m;
    second = v;
  }
};

TEST(Optimizer, KeepsMomentsOfBfloat16ParametersInTheirTypeAsTorchDoes) {
  constexpr int kValues = 64;
  OptimizerOptions options;
  options.name = OptimizerName::adamw;
  options.weight_decay = 0.1;
  const auto start = [](int i) { return 0.03F * static_cast<float>(i) - 1; };
  const auto slope = [](int i, int step) {
    return static_cast<c10::BFloat16>(0.01F * static_cast<float>((i * step) % 13 - 5));
  };
  const at::Tensor w = at::zeros({kValues}, at::kBFloat16), gradient = at::zeros_like(w);
  std::vector<Bfloat16Adamw> expected;
  for (int i = 0; i < kValues; ++i) {
    w[i] = start(i);
    expected.push_back({start(i)});
  }
  const std::unique_ptr<Optimizer> optimizer = optimizer_of(options, {{"w", w}}, {gradient});

  for (int step = 1; step <= 30; ++step) {
    for (int i = 0; i < kValues; ++i) {
      gradient[i] = static_cast<float>(slope(i, step));
      expected[static_cast<std::size_t>(i)].step(options, slope(i, step), 1e-2, step);
    }
    optimizer->step(1e-2);
  }

  const NamedTensors state = optimizer->state();
  EXPECT_EQ(state[0].tensor.scalar_type(), at::kBFloat16);
  EXPECT_EQ(state[1].tensor.scalar_type(), at::kBFloat16);
  int num_wrong = 0;
  for (int i = 0; i < kValues; ++i)
    if (w[i].item<float>() != static_cast<float>(expected[static_cast<std::size_t>(i)].value)) ++num_wrong;
  EXPECT_LE(num_wrong, 2);  // values on the border of a rounding
}

TEST(Optimizer, ClipsAsTorchDoes) {
  const json oracle = read_json("clipping.json");
  for (const json& one : oracle["cases"]) {
    NamedTensors parameters;
    std::vector<at::Tensor> gradients, expected;
    for (const json& gradient : one["grads"]) {
      gradients.push_back(tensor_of(gradient, at::kFloat));
      parameters.push_back({"p", at::zeros_like(gradients.back())});
    }
    for (const json& gradient : one["max_norm_1_type_2.0"]["after"])
      expected.push_back(tensor_of(gradient, at::kFloat));
    const std::unique_ptr<Optimizer> optimizer = optimizer_of({}, parameters, gradients);
    const double reference = one["max_norm_1_type_2.0"]["total_norm"];

    EXPECT_NEAR(gradient_norm(*optimizer), reference, 1e-6 * reference);
    EXPECT_NEAR(clip(*optimizer, 1.0), reference, 1e-6 * reference);

    for (std::size_t i = 0; i < gradients.size(); ++i)
      EXPECT_LE(largest_difference(gradients[i], expected[i]), 1e-6 * expected[i].abs().max().item<double>());
  }
}

TEST(Optimizer, ClipsBfloat16GradientsInFloat32) {
  const at::Tensor gradient = at::arange(1, 365, at::kFloat).to(at::kBFloat16);
  const at::Tensor before = gradient.to(at::kDouble);
  const std::unique_ptr<Optimizer> optimizer = optimizer_of({}, {{"w", at::zeros_like(gradient)}}, {gradient});

  const double norm = clip(*optimizer, 1.0);

  // One rounding, of the product; in bfloat16 the factor alone would be 2^-8.05 off.
  EXPECT_LE(gradient.to(at::kDouble).mul(norm).div(before).sub(1).abs().max().item<double>(), 0x1.01p-8);
}

TEST(Optimizer, SumsTheNormInFloat64) {
  const at::Tensor gradient = at::full({1 << 20}, 1e-3F, at::kFloat);
  const double exact = static_cast<double>(1e-3F) * 1024;
  const std::unique_ptr<Optimizer> optimizer = optimizer_of({}, {{"p", at::zeros_like(gradient)}}, {gradient});

  EXPECT_NEAR(gradient_norm(*optimizer), exact, 1e-10);
}

TEST(Optimizer, UpdatesParametersThatRequireGradientsInTheirOwnLayout) {
  const at::Tensor parameter = at::zeros({2, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  const at::Tensor gradient = at::empty_like(parameter);
  gradient.copy_(at::arange(24).reshape({2, 3, 2, 2}));
  OptimizerOptions options;
  options.momentum = 0.5;
  const std::unique_ptr<Optimizer> optimizer = optimizer_of(options, {{"w", parameter}}, {gradient});

  optimizer->step(1.0);
  optimizer->step(1.0);

  EXPECT_LE(largest_difference(parameter.detach(), at::arange(24).reshape({2, 3, 2, 2}).mul(-2.5)), 0);
  EXPECT_TRUE(parameter.is_leaf());
}

class StateOf : public testing::TestWithParam<at::ScalarType> {};

TEST_P(StateOf, OptimizersContinuesThemBitForBit) {
  for (const char* name : {"sgd_nesterov_wd", "adamw_b2"}) {
    const json oracle = read_json("optimisers.json");
    const OptimizerOptions options = options_of(oracle["cases"][name]);
    Problem whole(oracle["about"], GetParam()), again(oracle["about"], GetParam());
    const auto first = optimizer_of(options, whole.parameters(), whole.gradients());
    const auto advance = [](Problem& problem, Optimizer& optimizer) {
      for (int s = 0; s < 5; ++s) {
        problem.differentiate();
        optimizer.step(0.05);
      }
    };
    advance(whole, *first);

    again.x.copy_(whole.x);
    const auto second = optimizer_of(options, again.parameters(), again.gradients());
    const NamedTensors from = first->state(), to = second->state();
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i)
      to[i].tensor.copy_(from[i].tensor);
    advance(whole, *first);
    advance(again, *second);

    EXPECT_TRUE(whole.x.equal(again.x)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StateOf, testing::Values(at::kFloat, at::kBFloat16));

TEST(Optimizer, NamesItsStateAfterTheParameters) {
  const at::Tensor w = at::zeros({2});
  const auto names_of = [&](OptimizerName name, double momentum) {
    OptimizerOptions options;
    options.name = name;
    options.momentum = momentum;
    std::vector<std::string> names;
    for (const NamedTensor& entry : optimizer_of(options, {{"w", w}}, {at::ones({2})})->state())
      names.push_back(entry.name);
    return names;
  };

  EXPECT_EQ(names_of(OptimizerName::sgd, 0), std::vector<std::string>{});
  EXPECT_EQ(names_of(OptimizerName::sgd, 0.9), std::vector<std::string>{"momentum_buffer.w"});
  EXPECT_EQ(names_of(OptimizerName::adamw, 0), (std::vector<std::string>{"exp_avg.w", "exp_avg_sq.w", "step"}));
}

TEST(Optimizer, RefusesGradientsThatDoNotMatch) {
  const at::Tensor w = at::zeros({2, 3});

  EXPECT_THROW(optimizer_of({}, {{"w", w}}, {at::zeros({3, 2})}), std::logic_error);
  EXPECT_THROW(optimizer_of({}, {{"w", w}}, {at::zeros({3, 2}).t()}), std::logic_error);
  EXPECT_THROW(optimizer_of({}, {{"w", w}}, {at::zeros({2, 3}, at::kDouble)}), std::logic_error);
  EXPECT_THROW(optimizer_of({}, {{"w", w}}, {}), std::logic_error);
}

TEST(Optimizer, LeavesNormsAndBiasesUndecayedOnRequest) {
  for (const OptimizerName name : {OptimizerName::sgd, OptimizerName::adamw, OptimizerName::adamw8bit}) {
    SCOPED_TRACE(word_of(name, kOptimizerWords));
    const at::Tensor matrix = at::ones({2, 2}), bias = at::ones({2});
    OptimizerOptions options;
    options.name = name;
    options.weight_decay = 0.5;
    options.decay_norms = false;
    const std::unique_ptr<Optimizer> optimizer =
        optimizer_of(options, {{"bias", bias}, {"matrix", matrix}}, {at::zeros({2}), at::zeros({2, 2})});

    optimizer->step(0.1);

    EXPECT_EQ(bias[0].item<float>(), 1.0f);
    EXPECT_NEAR(matrix[0][0].item<float>(), 0.95f, 1e-6);
  }
}

TEST(Optimizer, ChangesNothingWhereAGradientWasNotFinite) {
  for (const OptimizerName name : {OptimizerName::sgd, OptimizerName::adamw, OptimizerName::adamw8bit}) {
    SCOPED_TRACE(word_of(name, kOptimizerWords));
    const at::Tensor skipped = at::ones({2}), plain = at::ones({2});
    OptimizerOptions options;
    options.name = name;
    if (options.name == OptimizerName::sgd) options.momentum = 0.9;
    const auto skipping = optimizer_of(options, {{"x", skipped}}, {at::ones({2})});
    const auto other = optimizer_of(options, {{"x", plain}}, {at::ones({2})});

    skipping->step(0.1, at::ones({}));
    EXPECT_EQ(skipped[0].item<float>(), 1.0f);
    for (int i = 0; i < 3; ++i) {
      skipping->step(0.1, at::zeros({}));
      other->step(0.1);
    }

    EXPECT_EQ(largest_difference(skipped, plain), 0.0);
    for (std::size_t i = 0; i < other->state().size(); ++i)
      EXPECT_EQ(largest_difference(skipping->state()[i].tensor, other->state()[i].tensor), 0.0);
  }
}

TEST(Optimizer, ReportsTheBytesOfItsState) {
  const NamedTensors parameters{{"a", at::ones({30, 5})},
                                {"b", at::ones({7}, at::kDouble)},
                                {"c", at::ones({9}, at::kBFloat16)},
                                {"codes", at::ones({4096})},
                                {"more", at::ones({5000}, at::kBFloat16)}};
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : parameters)
    gradients.push_back(at::zeros_like(parameter.tensor));
  for (const Word<OptimizerName>& word : kOptimizerWords)
    for (const double momentum : {0.0, 0.9}) {
      OptimizerOptions options;
      options.name = word.value;
      options.momentum = momentum;
      const std::int64_t bytes = bytes_of(optimizer_of(options, parameters, gradients)->state());
      EXPECT_EQ(optimizer_bytes(options, parameters), bytes) << word.text << ", momentum " << momentum;
    }
}

}  // namespace
}  // namespace multicard
