// Adapters of unequal ranks and alphas with modules that are trained whole, against PEFT (README.md in
// tests/data/oracles/patterns).
#include <ATen/ops/equal.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "language_models.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "text/tokenizer/NameMatch.hpp"

namespace multicard {
namespace {

using test::json_of;
using test::oracle_rows;
using test::source_path;
using test::story_network;

// PEFT's numbers are float64 but for norms and rotary angles.
constexpr double kTolerance = 2e-5;

class PatternOracle : public testing::Test {
 protected:
  PatternOracle() {
    attach_adapters(*network_, PeftAdapter::open(source_path("tests/data/oracles/patterns/adapter").string()),
                    at::kDouble, whole_matches);
  }

  void expect_logits(const char* name, double tolerance = kTolerance) {
    const test::TextBatchParts rows = oracle_rows(batches_, 0);
    const nlohmann::json& expected = oracle_.at(name);
    for (std::size_t row = 0; row < 4; ++row) {
      const std::int64_t length = rows.shapes[row].num_tokens();
      const at::Tensor tokens = rows.tokens.narrow(0, static_cast<std::int64_t>(row), 1).narrow(1, 0, length);
      const at::Tensor last = network_->logits(tokens).squeeze(0).select(0, -1);
      EXPECT_NEAR(last.logsumexp({0}).item<double>(), expected[row].at("logsumexp").get<double>(), tolerance) << name;
      for (const auto& entry : expected[row].at("top5"))
        EXPECT_NEAR(last[entry[0].get<std::int64_t>()].item<double>(), entry[1].get<double>(), tolerance) << name;
    }
  }

  // Loss and gradient norm of a step, and AdamW without weight decay.
  std::pair<double, double> train(std::int64_t step) {
    test::clear_gradients(*network_);
    const test::TextBatchParts rows = oracle_rows(batches_, step);
    double num_targets = 0;
    for (const RowShape& shape : rows.shapes)
      num_targets += static_cast<double>(shape.num_targets);
    const at::Tensor loss = network_->loss_sum(rows.input()) / num_targets;
    loss.backward();
    const at::NoGradGuard no_grad;
    double squares = 0;
    for (std::size_t i = 0; i < network_->parameters().size(); ++i) {
      at::Tensor parameter = network_->parameters()[i].tensor;
      const at::Tensor gradient = parameter.grad();
      squares += gradient.square().sum().item<double>();
      if (first_.size() <= i) {
        first_.push_back(at::zeros_like(parameter));
        second_.push_back(at::zeros_like(parameter));
      }
      first_[i].mul_(0.9).add_(gradient, 0.1);
      second_[i].mul_(0.999).add_(gradient.square(), 0.001);
      const double number = static_cast<double>(step) + 1;
      const at::Tensor deviation = second_[i].sqrt() / std::sqrt(1 - std::pow(0.999, number)) + 1e-8;
      parameter.sub_(first_[i] / deviation * (1e-3 / (1 - std::pow(0.9, number))));
    }
    return {loss.item<double>(), std::sqrt(squares)};
  }

  std::unique_ptr<Llama> network_ = story_network(at::kDouble);
  nlohmann::json oracle_ = json_of("oracles/patterns/oracle.json");
  TensorFile batches_{source_path("tests/data/oracles/lora/batches.safetensors").string()};
  std::vector<at::Tensor> first_, second_;
};

TEST_F(PatternOracle, GivesTheLogitsOfPeft) {
  expect_logits("logits");
  network_->set_adapters(Adapters::off);
  expect_logits("logits_off");
}

TEST_F(PatternOracle, TrainsWhatPeftTrains) {
  std::int64_t trained = 0;
  for (const NamedTensor& parameter : network_->parameters())
    trained += parameter.tensor.numel();
  EXPECT_EQ(trained, oracle_.at("trained").get<std::int64_t>());
  const nlohmann::json& expected = oracle_.at("training");
  for (std::size_t step = 0; step < expected.at("loss").size(); ++step) {
    const auto [loss, norm] = train(static_cast<std::int64_t>(step));
    EXPECT_NEAR(loss, expected.at("loss")[step].get<double>(), kTolerance) << step;
    EXPECT_NEAR(norm / expected.at("grad_norm")[step].get<double>(), 1, kTolerance) << step;
  }
  // Where a gradient is next to nothing, AdamW's first steps make much of its rounding.
  expect_logits("logits_trained", 1e-3);
}

TEST_F(PatternOracle, RecomputesBlocksWithTheSameGradients) {
  const test::TextBatchParts rows = oracle_rows(batches_, 0);
  const std::vector<at::Tensor> kept = test::gradients(*network_, rows.input());
  network_->set_checkpointing(Checkpointing::per_layer);

  const std::vector<at::Tensor> recomputed = test::gradients(*network_, rows.input());

  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_TRUE(at::equal(recomputed[i], kept[i])) << network_->parameters()[i].name;
}

TEST_F(PatternOracle, MergesAsPeftDoes) {
  ASSERT_TRUE(network_->config().has_tied_embeddings);

  network_->merge_adapters();

  EXPECT_TRUE(network_->adapters().empty());
  EXPECT_FALSE(network_->config().has_tied_embeddings);
  EXPECT_EQ(network_->weights().back().name, "lm_head.weight");
  expect_logits("logits_merged");
}

TEST(ModulesToSaveOfANetwork, StartAsTheBaseModelAndLeaveItAsItIs) {
  const auto network = story_network(at::kFloat);
  const at::Tensor tokens = at::randint(2048, {2, 9}, at::kLong), before = network->logits(tokens);
  const at::Tensor embeddings = network->weights().front().tensor.clone();
  network->add_adapters({.settings = {.modules_to_save = {"lm_head", "embed_tokens", "norm"}}});

  EXPECT_TRUE(at::equal(network->logits(tokens), before));
  EXPECT_EQ(network->parameters().front().name, "base_model.model.model.embed_tokens.weight");
  EXPECT_EQ(network->parameters().back().name, "base_model.model.lm_head.weight");
  {
    const at::NoGradGuard no_grad;
    for (const NamedTensor& parameter : network->parameters())
      at::Tensor(parameter.tensor).add_(0.01);
  }
  EXPECT_FALSE(at::equal(network->logits(tokens), before));
  network->set_adapters(Adapters::off);
  EXPECT_TRUE(at::equal(network->logits(tokens), before));
  EXPECT_TRUE(at::equal(network->weights().front().tensor, embeddings));
}

}  // namespace
}  // namespace multicard
