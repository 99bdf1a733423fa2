#include "state/MergedWeights.hpp"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"
#include "text/tokenizer/NameMatch.hpp"

namespace multicard {
namespace {

const std::string kLayer = "model.layers.0.self_attn.q_proj";

/// A base model of one adapted and one plain weight, and an adapter of rank 2 with scaling 4.
class MergedModel : public testing::Test {
 protected:
  void SetUp() override {
    save_tensors(scratch_ / "model.safetensors", {{kLayer + ".weight", base_}, {"model.norm.weight", norm_}});
    write_adapter_of({{PeftAdapter::a_name(kLayer), a_}, {PeftAdapter::b_name(kLayer), b_}});
  }

  void write_adapter_of(const NamedTensors& tensors, AdapterConfig config = {}) {
    config.settings.rank = 2;
    config.settings.targets = {"all-linear"};
    write_adapter(scratch_.path().string(), config, tensors);
  }

  at::Tensor merged(const std::string& name, at::ScalarType dtype, OutputLayer output = OutputLayer::own) const {
    const ModelFolder base = ModelFolder::open(scratch_.path().string());
    const PeftAdapter adapter = PeftAdapter::open(scratch_.path().string());
    return MergedWeights(base, adapter, output, whole_matches).weight(name, dtype);
  }

  test::ScratchFolder scratch_;
  at::Tensor base_ = at::randn({3, 5}).to(at::kBFloat16), norm_ = at::randn({7}).to(at::kBFloat16);
  at::Tensor a_ = at::randn({2, 5}), b_ = at::randn({3, 2});
};

TEST_F(MergedModel, HasBasePlusScaledAdapterRoundedOnce) {
  const at::Tensor expected = base_.to(at::kDouble) + 4 * at::matmul(b_.to(at::kDouble), a_.to(at::kDouble));

  const at::Tensor as_float = merged(kLayer + ".weight", at::kFloat);
  EXPECT_LT((as_float.to(at::kDouble) - expected).abs().max().item<double>(), 1e-5);
  EXPECT_TRUE(at::equal(merged(kLayer + ".weight", at::kBFloat16), as_float.to(at::kBFloat16)));
}

TEST_F(MergedModel, KeepsOtherWeightsAsTheyAre) {
  EXPECT_TRUE(at::equal(merged("model.norm.weight", at::kBFloat16), norm_));
  EXPECT_TRUE(at::equal(merged("model.norm.weight", at::kFloat), norm_.to(at::kFloat)));
}

TEST_F(MergedModel, RefusesAnAdapterOfAnotherModel) {
  const auto adapter_of = [](const std::string& layer, std::int64_t out, std::int64_t in) {
    return NamedTensors{{PeftAdapter::a_name(layer), at::ones({2, in})},
                        {PeftAdapter::b_name(layer), at::ones({out, 2})}};
  };
  write_adapter_of(adapter_of("model.layers.9.self_attn.q_proj", 3, 5));
  EXPECT_THROW(merged(kLayer + ".weight", at::kFloat), DataError);
  write_adapter_of(adapter_of(kLayer, 5, 3));
  EXPECT_THROW(merged(kLayer + ".weight", at::kFloat), DataError);
  save_tensors(scratch_ / "model.safetensors", {{"lm_head.weight", at::ones({3, 5})}});
  write_adapter_of(adapter_of("lm_head", 3, 5));
  EXPECT_THROW(merged("lm_head.weight", at::kFloat, OutputLayer::tied), DataError);
  EXPECT_NO_THROW(merged("lm_head.weight", at::kFloat, OutputLayer::own));
}

TEST_F(MergedModel, ScalesAsThePatternsSay) {
  AdapterConfig config;
  config.settings.patterns.alpha = {{"v_proj", 100}, {"q_proj", 3}, {".*", 7}};
  write_adapter_of({{PeftAdapter::a_name(kLayer), a_}, {PeftAdapter::b_name(kLayer), b_}}, config);
  const at::Tensor expected = base_.to(at::kDouble) + 1.5 * at::matmul(b_.to(at::kDouble), a_.to(at::kDouble));

  const at::Tensor found = merged(kLayer + ".weight", at::kFloat);

  EXPECT_LT((found.to(at::kDouble) - expected).abs().max().item<double>(), 1e-5);
  config.settings.patterns.rank = {{"q_proj", 4}, {"other", 2}};
  write_adapter_of({{PeftAdapter::a_name(kLayer), a_}, {PeftAdapter::b_name(kLayer), b_}}, config);
  EXPECT_THROW(merged(kLayer + ".weight", at::kFloat), DataError) << "the pattern says 4, the tensors have 2";
}

/// A base whose output layer is that of the embeddings, and an adapter with one of the two.
class MergedTiedModel : public MergedModel {
 protected:
  std::vector<std::string> names(const MergedWeights& weights) const {
    std::vector<std::string> found;
    for (const TensorHeader& header : weights.tensors())
      found.push_back(header.name);
    std::sort(found.begin(), found.end());
    return found;
  }

  void write(const std::string& stored, const std::string& module) {
    save_tensors(scratch_ / "model.safetensors", {{kLayer + ".weight", base_}, {stored, ends_}});
    AdapterConfig config;
    config.settings.modules_to_save = {module.substr(module.rfind('.') + 1)};
    write_adapter_of({{PeftAdapter::a_name(kLayer), a_},
                      {PeftAdapter::b_name(kLayer), b_},
                      {PeftAdapter::saved_name(module + ".weight"), saved_}},
                     config);
  }

  at::Tensor ends_ = at::randn({7, 5}).to(at::kBFloat16), saved_ = at::randn({7, 5});
};

TEST_F(MergedTiedModel, IsTiedNoLongerWhereTheAdapterHasOneSide) {
  for (const std::string stored : {"lm_head.weight", "model.embed_tokens.weight"})
    for (const std::string module : {"lm_head", "model.embed_tokens"}) {
      write(stored, module);
      const ModelFolder base = ModelFolder::open(scratch_.path().string());
      const PeftAdapter adapter = PeftAdapter::open(scratch_.path().string());
      const MergedWeights weights(base, adapter, OutputLayer::tied, whole_matches);
      const std::string other = module == "lm_head" ? "model.embed_tokens" : "lm_head";

      EXPECT_EQ(weights.output(), OutputLayer::own);
      EXPECT_EQ(names(weights),
                (std::vector<std::string>{"lm_head.weight", "model.embed_tokens.weight", kLayer + ".weight"}));
      EXPECT_TRUE(at::equal(weights.weight(module + ".weight", at::kFloat), saved_)) << stored << " " << module;
      EXPECT_TRUE(at::equal(weights.weight(other + ".weight", at::kBFloat16), ends_)) << stored << " " << module;
    }
}

TEST_F(MergedTiedModel, StaysTiedOtherwise) {
  write("lm_head.weight", "lm_head");
  write_adapter_of({{PeftAdapter::a_name(kLayer), a_}, {PeftAdapter::b_name(kLayer), b_}});
  const ModelFolder base = ModelFolder::open(scratch_.path().string());
  const PeftAdapter adapter = PeftAdapter::open(scratch_.path().string());
  const MergedWeights weights(base, adapter, OutputLayer::tied, whole_matches);

  EXPECT_EQ(weights.output(), OutputLayer::tied);
  EXPECT_EQ(names(weights), (std::vector<std::string>{"model.embed_tokens.weight", kLayer + ".weight"}));
}

TEST_F(MergedModel, RefusesSavedModulesOfAnotherModel) {
  const auto write = [&](const std::string& weight, at::IntArrayRef shape) {
    AdapterConfig config;
    config.settings.modules_to_save = {"norm", "lm_head"};
    write_adapter_of({{PeftAdapter::a_name(kLayer), a_},
                      {PeftAdapter::b_name(kLayer), b_},
                      {PeftAdapter::saved_name(weight), at::ones(shape)}},
                     config);
  };
  write("model.norm.weight", {7});
  EXPECT_TRUE(at::equal(merged("model.norm.weight", at::kFloat), at::ones({7})));
  write("model.norm.weight", {6});
  EXPECT_THROW(merged("model.norm.weight", at::kFloat), DataError);
  write("lm_head.weight", {7, 5});
  EXPECT_THROW(merged("model.norm.weight", at::kFloat), DataError);
}

}  // namespace
}  // namespace multicard
