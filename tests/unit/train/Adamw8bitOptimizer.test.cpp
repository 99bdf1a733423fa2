// AdamW with moments of 8 bits against bitsandbytes (tests/data/oracles/optimisation/README.md).

#include "train/Adamw8bitOptimizer.hpp"

#include <map>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "optimizers.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

const std::vector<std::string> kNames{"whole", "odd", "bfloat16", "small"};

OptimizerOptions oracle_options() {
  OptimizerOptions options;
  options.name = OptimizerName::adamw8bit;
  options.weight_decay = 0.1;
  options.beta2 = 0.99;
  return options;
}

/// make_adamw8bit.py's numbers().
at::Tensor numbers(std::int64_t size, std::int64_t salt) {
  const at::Tensor i = at::arange(size, at::kLong);
  const at::Tensor whole = i.mul(7919).add(salt * 104729).remainder(251).sub(125).to(at::kDouble);
  const at::Tensor exponents = i.mul(31).add(salt).remainder(13).add(7).neg().to(at::kDouble);
  return whole.mul(at::pow(2.0, exponents));
}

/// The tensors that bitsandbytes trained, and an optimizer for them.
struct OracleRun {
  OracleRun() {
    for (const std::string& name : kNames) {
      const at::Tensor like = file.view("1." + name + ".value");
      parameters.push_back({name, numbers(like.numel(), 1000).view(like.sizes()).to(like.scalar_type())});
      gradients.push_back(at::zeros_like(like));
    }
    optimizer = optimizer_of(oracle_options(), parameters, gradients);
  }

  void advance(int step) {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      gradients[i].copy_(numbers(gradients[i].numel(), step * 4 + static_cast<std::int64_t>(i)).view_as(gradients[i]));
    optimizer->step(1e-2);
  }
  at::Tensor theirs(int step, const std::string& name, const std::string& what) const {
    return file.load(std::to_string(step) + "." + name + "." + what);
  }
  at::Tensor ours(const std::string& name) const {
    for (const NamedTensor& entry : optimizer->state())
      if (entry.name == name) return entry.tensor;
    throw std::out_of_range(name);
  }
  /// Everything as it was with bitsandbytes after a step.
  void load(int step) {
    for (const auto& [name, tensor] : parameters) {
      tensor.copy_(theirs(step, name, "value"));
      for (const std::string what : {"exp_avg", "exp_avg_sq"}) {
        ours(what + "." + name).copy_(theirs(step, name, what));
        if (name != "small") ours(what + "_scale." + name).copy_(theirs(step, name, what + "_absmax"));
      }
    }
    ours("step").fill_(step);
  }

  TensorFile file{test::source_path("tests/data/oracles/optimisation/adamw8bit.safetensors").string()};
  NamedTensors parameters;
  std::vector<at::Tensor> gradients;
  std::unique_ptr<Optimizer> optimizer;
};

double largest(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).abs().max().item<double>();
}

/// A step from bitsandbytes' own state: moments bit for bit, values to rounding.
void expect_step(const OracleRun& run, int step) {
  for (const auto& [name, tensor] : run.parameters) {
    SCOPED_TRACE(name + ", step " + std::to_string(step));
    const at::Tensor expected = run.theirs(step, name, "value");
    if (name == "bfloat16")
      EXPECT_TRUE(at::equal(tensor, expected));
    else
      EXPECT_LE(largest(tensor.sub(expected)), 0x1p-23 * largest(expected));
    for (const std::string what : {"exp_avg", "exp_avg_sq"}) {
      EXPECT_TRUE(at::equal(run.ours(what + "." + name), run.theirs(step, name, what)));
      if (name == "small") continue;
      EXPECT_TRUE(at::equal(run.ours(what + "_scale." + name), run.theirs(step, name, what + "_absmax")));
    }
  }
}

TEST(Adamw8bitOptimizer, TakesBitsandbytesFirstStep) {
  OracleRun run;

  run.advance(1);

  expect_step(run, 1);
}

TEST(Adamw8bitOptimizer, TakesBitsandbytesLaterSteps) {
  for (const int step : {2, 11, 20}) {
    OracleRun run;
    run.load(step - 1);

    run.advance(step);

    expect_step(run, step);
  }
}

TEST(Adamw8bitOptimizer, StaysWithBitsandbytesFor20Steps) {
  OracleRun run;

  for (int step = 1; step <= 20; ++step)
    run.advance(step);

  for (const auto& [name, tensor] : run.parameters) {
    SCOPED_TRACE(name);
    const at::Tensor expected = run.theirs(20, name, "value").to(at::kDouble);
    const at::Tensor apart = tensor.to(at::kDouble).sub(expected).abs();
    // A code that fell on the other side moves its value by some per cent of a step.
    EXPECT_LE(apart.max().item<double>(), 1e-3);
    EXPECT_LE(apart.gt(name == "bfloat16" ? 0 : 1e-6).sum().item<std::int64_t>(), tensor.numel() / 100);
  }
}

TEST(Adamw8bitOptimizer, KeepsFloatsOfSmallParametersAlone) {
  const at::Tensor small = at::zeros({4095}), large = at::zeros({64, 64}, at::kBFloat16);
  const auto optimizer = optimizer_of(oracle_options(), {{"small", small}, {"large", large}},
                                      {at::zeros_like(small), at::zeros_like(large)});
  std::map<std::string, std::pair<at::ScalarType, std::vector<std::int64_t>>> found;
  for (const NamedTensor& entry : optimizer->state())
    found[entry.name] = {entry.tensor.scalar_type(), entry.tensor.sizes().vec()};

  EXPECT_EQ(found.size(), 7U);
  EXPECT_EQ(found["exp_avg.small"], std::pair(at::kFloat, std::vector<std::int64_t>{4095}));
  EXPECT_EQ(found["exp_avg_sq.small"], std::pair(at::kFloat, std::vector<std::int64_t>{4095}));
  EXPECT_EQ(found["exp_avg.large"], std::pair(at::kByte, (std::vector<std::int64_t>{64, 64})));
  EXPECT_EQ(found["exp_avg_sq.large"], std::pair(at::kByte, (std::vector<std::int64_t>{64, 64})));
  EXPECT_EQ(found["exp_avg_scale.large"], std::pair(at::kFloat, std::vector<std::int64_t>{16}));
  EXPECT_EQ(found["exp_avg_sq_scale.large"], std::pair(at::kFloat, std::vector<std::int64_t>{16}));
  EXPECT_EQ(found["step"], std::pair(at::kFloat, std::vector<std::int64_t>{}));
}

TEST(Adamw8bitOptimizer, ContinuesItsStateBitForBit) {
  OracleRun whole, again;
  for (int step = 1; step <= 5; ++step)
    whole.advance(step);

  const NamedTensors from = whole.optimizer->state(), to = again.optimizer->state();
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i].tensor.copy_(from[i].tensor);
  for (std::size_t i = 0; i < whole.parameters.size(); ++i)
    again.parameters[i].tensor.copy_(whole.parameters[i].tensor);
  for (int step = 6; step <= 10; ++step) {
    whole.advance(step);
    again.advance(step);
  }

  for (std::size_t i = 0; i < whole.parameters.size(); ++i)
    EXPECT_TRUE(at::equal(whole.parameters[i].tensor, again.parameters[i].tensor)) << whole.parameters[i].name;
}

TEST(Adamw8bitOptimizer, UpdatesAnyLayoutAlike) {
  const at::Tensor rows = at::randn({16, 32, 3, 3}), gradient = at::randn({16, 32, 3, 3});
  const at::Tensor channels_last = rows.clone(at::MemoryFormat::ChannelsLast);
  const at::Tensor gradient_last = gradient.clone(at::MemoryFormat::ChannelsLast);
  const auto first = optimizer_of(oracle_options(), {{"w", rows}}, {gradient});
  const auto second = optimizer_of(oracle_options(), {{"w", channels_last}}, {gradient_last});

  for (int step = 0; step < 3; ++step) {
    first->step(1e-2);
    second->step(1e-2);
  }

  EXPECT_TRUE(at::equal(rows, channels_last));
  EXPECT_TRUE(channels_last.is_contiguous(at::MemoryFormat::ChannelsLast));
  for (std::size_t i = 0; i < first->state().size(); ++i)
    EXPECT_TRUE(at::equal(first->state()[i].tensor, second->state()[i].tensor));
}

}  // namespace
}  // namespace multicard
