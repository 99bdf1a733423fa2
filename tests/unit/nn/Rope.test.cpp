#include "nn/language/Rope.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "language_models.hpp"

namespace multicard {
namespace {

/// Read as a model folder's.
LlamaConfig config_of(const nlohmann::json& entry) {
  const nlohmann::json file = {{"model_type", "llama"},
                               {"vocab_size", 32},
                               {"hidden_size", 64},
                               {"intermediate_size", 64},
                               {"num_hidden_layers", 1},
                               {"num_attention_heads", 2},
                               {"head_dim", entry.at("head_dim")},
                               {"max_position_embeddings", entry.value("max_position_embeddings", 131072)},
                               {"rope_theta", entry.at("rope_theta")},
                               {"rope_parameters", entry.at("rope_scaling")}};
  return LlamaConfig::parse(file.dump(), "config.json");
}

TEST(Rope, HasTheFrequenciesAndAnglesOfTransformers) {
  const nlohmann::json oracle = test::json_of("oracles/rope/rope.json");
  ASSERT_EQ(oracle.at("cases").size(), 8U);
  for (const nlohmann::json& entry : oracle.at("cases")) {
    const LlamaConfig config = config_of(entry);
    const at::Tensor frequencies = rope_frequencies(config);
    const auto expected = entry.at("inv_freq").get<std::vector<double>>();
    ASSERT_EQ(frequencies.numel(), static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(frequencies[static_cast<std::int64_t>(i)].item<double>() / expected[i], 1.0, 1.5e-7);
    const at::Tensor positions = at::tensor(entry.at("positions").get<std::vector<std::int64_t>>(), at::kLong);
    const RopeTable table =
        rope_table(config, positions.max().item<std::int64_t>() + 1, at::kDouble, at::kCPU).at_positions(positions);
    for (std::int64_t row = 0; row < positions.numel(); ++row) {
      const auto index = static_cast<std::size_t>(row);
      const at::Tensor cos = at::tensor(entry.at("cos_first_half")[index].get<std::vector<double>>(), at::kDouble);
      const at::Tensor sin = at::tensor(entry.at("sin_first_half")[index].get<std::vector<double>>(), at::kDouble);
      // One rounding of a frequency turns the angle of position 20000 by 20000 * 6e-8.
      const double tolerance = 2e-7 + 1e-7 * static_cast<double>(positions[row].item<std::int64_t>());
      EXPECT_LT(test::largest(table.cos[row] - cos), tolerance);
      EXPECT_LT(test::largest(table.sin[row] - sin), tolerance);
    }
  }
}

TEST(Rope, DividesFrequenciesOfLinearScaling) {
  LlamaConfig config;
  config.head_dim = 16;
  const at::Tensor plain = rope_frequencies(config);
  config.rope_scaling = {.kind = RopeScaling::Kind::linear, .factor = 4.0};

  EXPECT_LT(test::largest(rope_frequencies(config) * 4.0 - plain), 1e-7);
}

TEST(Rope, TurnsPairsOfHalvesAndBack) {
  LlamaConfig config;
  config.head_dim = 36;
  const RopeTable table = rope_table(config, 3, at::kDouble, at::kCPU);
  const double angle = 2 * rope_frequencies(config)[1].item<double>();
  for (const Kernels kernels : {Kernels::automatic, Kernels::aten}) {
    const at::Tensor row = at::randn({3, 3 * 36}, at::kDouble);
    const at::Tensor x = row.narrow(1, 0, 2 * 36).unflatten(1, {2, 36}), before = row.clone();

    rotate(x, table, Rotation::forward, kernels);

    const double first = before[2][36 + 1].item<double>(), second = before[2][36 + 19].item<double>();
    EXPECT_NEAR(x[2][1][1].item<double>(), first * std::cos(angle) - second * std::sin(angle), 1e-6);
    EXPECT_NEAR(x[2][1][19].item<double>(), second * std::cos(angle) + first * std::sin(angle), 1e-6);
    rotate(x, table, Rotation::inverse, kernels);
    EXPECT_LT(test::largest(row - before), 1e-6);
  }
}

}  // namespace
}  // namespace multicard
