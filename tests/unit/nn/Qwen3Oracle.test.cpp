// A Qwen3 network against the results of transformers and PEFT (README.md in tests/data/oracles/qwen3).
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "language_models.hpp"
#include "nn/language/Generate.hpp"
#include "nn/language/LanguageFactory.hpp"

namespace multicard {
namespace {

// The reference computes norms and rotary angles in float32 even in its float64 runs.
constexpr double kNearlyExact = 1e-5;

class Qwen3 : public testing::Test {
 protected:
  Qwen3() : tokens_(rows_of("tokens").to(at::kLong)) {
    targets_ = at::full_like(tokens_, -100);
    targets_.narrow(1, 0, 11).copy_(tokens_.narrow(1, 1, 11));
  }

  at::Tensor rows_of(const char* key) const {
    std::vector<at::Tensor> rows;
    for (const nlohmann::json& row : oracle_.at(key))
      rows.push_back(at::tensor(row.get<std::vector<double>>(), at::kDouble));
    return at::stack(rows);
  }

  static std::unique_ptr<Llama> load(at::ScalarType dtype) {
    return load_network(test::source_path("tests/data/models/qwen3-tiny").string(), dtype, at::kCPU);
  }

  // Mean over the targets, and the norm of each gradient.
  double check_gradients(Llama& network, const nlohmann::json& expected) const {
    test::clear_gradients(network);
    const std::vector<RowShape> shapes(2, RowShape{{12}, 11});
    const at::Tensor loss = network.loss_sum({tokens_, targets_, shapes}) / 22;
    loss.backward();
    EXPECT_EQ(network.parameters().size(), expected.size());
    for (const NamedTensor& entry : network.parameters()) {
      const double norm = expected.at(entry.name).get<double>();
      EXPECT_NEAR(entry.tensor.grad().norm().item<double>(), norm, kNearlyExact * (1 + norm)) << entry.name;
    }
    return loss.item<double>();
  }

  const nlohmann::json oracle_ = test::json_of("oracles/qwen3/oracle.json");
  at::Tensor tokens_, targets_;  // [2, 12]
};

TEST_F(Qwen3, GivesTheLogitsOfTransformers) {
  const auto network = load(at::kDouble);

  const at::Tensor found = network->logits(tokens_).select(1, -1), expected = rows_of("last_logits");

  EXPECT_TRUE(network->config().has_head_norms && network->config().has_tied_embeddings);
  EXPECT_GT(test::largest(expected), 1);
  EXPECT_LT(test::largest(found - expected), kNearlyExact);
}

TEST_F(Qwen3, HasTheLossAndTheGradientsOfTransformers) {
  const auto network = load(at::kDouble);

  EXPECT_NEAR(check_gradients(*network, oracle_.at("gradients")), oracle_.at("loss").get<double>(), kNearlyExact);
  network->set_checkpointing(Checkpointing::per_layer);
  EXPECT_NEAR(check_gradients(*network, oracle_.at("gradients")), oracle_.at("loss").get<double>(), kNearlyExact);
}

TEST_F(Qwen3, IsAdaptedAsByPeft) {
  const auto network = load(at::kDouble);
  network->add_adapters(
      {.settings = {.rank = 4, .alpha = 8, .targets = {"q_proj", "k_proj", "down_proj"}}, .dtype = at::kDouble});
  const nlohmann::json& expected = oracle_.at("lora");
  {
    const at::NoGradGuard no_grad;
    for (const NamedTensor& adapter : network->adapters())
      at::Tensor(adapter.tensor)
          .copy_((at::arange(adapter.tensor.numel(), at::kDouble).view(adapter.tensor.sizes()) * 0.7).sin() * 0.1);
  }

  EXPECT_NEAR(check_gradients(*network, expected.at("gradients")), expected.at("loss").get<double>(), kNearlyExact);
}

TEST_F(Qwen3, ContinuesAsTransformersDoes) {
  const auto expected = oracle_.at("greedy").get<std::vector<std::int64_t>>();
  const auto prompt = oracle_.at("tokens").front().get<std::vector<std::int64_t>>();
  GenerateOptions options{
      .sampling = {.temperature = 0}, .max_new = std::ssize(expected), .end_tokens = EndTokens::ignore};

  for (const at::ScalarType dtype : {at::kDouble, at::kFloat})
    EXPECT_EQ(generate(*load(dtype), {prompt}, options).front().tokens, expected);
}

}  // namespace
}  // namespace multicard
