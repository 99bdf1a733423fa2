#include "nn/language/Lora.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "text/tokenizer/NameMatch.hpp"

namespace multicard {
namespace {

const std::vector<std::string> kNames{"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.v_proj",
                                      "model.layers.0.mlp.up_proj",      "model.layers.1.self_attn.q_proj",
                                      "model.layers.1.self_attn.v_proj", "model.layers.1.mlp.up_proj"};

std::vector<std::string> adapted(std::vector<std::string> targets) {
  AdapterOptions options;
  options.settings.targets = std::move(targets);
  options.matcher = whole_matches;
  return adapted_layers(options, kNames);
}

TEST(AdaptedLayers, AreNamedByTheirLastParts) {
  EXPECT_EQ(adapted({"all-linear"}), kNames);
  EXPECT_EQ(adapted({"q_proj"}), (std::vector<std::string>{kNames[0], kNames[3]}));
  EXPECT_EQ(adapted({"up_proj", "layers.1.self_attn.q_proj"}),
            (std::vector<std::string>{kNames[2], kNames[3], kNames[5]}));
}

TEST(AdaptedLayers, MatchASingleExpressionAsAWhole) {
  EXPECT_EQ(adapted({R"(model\.layers\.1\..*)"}), (std::vector<std::string>{kNames[3], kNames[4], kNames[5]}));
  EXPECT_EQ(adapted({".*[qv]_proj"}), (std::vector<std::string>{kNames[0], kNames[1], kNames[3], kNames[4]}));
  EXPECT_EQ(adapted({"model|.*layers.1.*(?:q|v)_proj"}), (std::vector<std::string>{kNames[3], kNames[4]}));
  EXPECT_THROW(adapted({"self_attn.*"}), UsageError);
  EXPECT_THROW(adapted({".*q_pro|model"}), UsageError);
  EXPECT_THROW(adapted({"("}), UsageError);
}

TEST(AdaptedLayers, NeedAMatcherForExpressionsAlone) {
  const auto targets = [](std::string target) { return AdapterOptions{.settings = {.targets = {std::move(target)}}}; };

  EXPECT_EQ(adapted_layers(targets("q_proj"), kNames), (std::vector<std::string>{kNames[0], kNames[3]}));
  EXPECT_THROW(adapted_layers(targets(".*q_proj"), kNames), std::logic_error);
}

TEST(AdaptedLayers, RefuseExpressionsThatHurt) {
  const auto refusal = [](const std::string& expression) {
    try {
      adapted({expression});
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  for (const char* open : {"(", "(?:", "[", "((a*)*"}) {
    std::string nested;
    for (int i = 0; i < 20000; ++i)
      nested += open;
    EXPECT_NE(refusal(nested).find("cannot be used"), std::string::npos) << refusal(nested);
    EXPECT_LT(refusal(nested).size(), 500u);
  }
  const std::string endless = refusal("(([a-z0-9._]+)+)+[A-Z]");
  EXPECT_NE(endless.find("exceeds the match limit"), std::string::npos) << endless;
}

TEST(AdaptedLayers, RefuseTargetsThatNameNothing) {
  EXPECT_THROW(adapted({"q_proj", "w_proj"}), UsageError);
  EXPECT_THROW(adapted({"roj"}), UsageError);
  EXPECT_THROW(adapted({"lm_head"}), UsageError);
  EXPECT_THROW(adapted({"q_proj", "all-linear"}), UsageError);
  EXPECT_THROW(adapted({}), UsageError);
  try {
    adapted({"q_pro"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.suggestion(), "Did you mean q_proj?");
  }
}

TEST(AdaptedLayers, OfAFileAreItsFault) {
  for (const char* target : {"(", "w_proj", "lm_head", "(([a-z0-9._]+)+)+[A-Z]"}) {
    AdapterOptions options;
    options.settings.targets = {target};
    options.matcher = whole_matches;
    options.file = "adapters/one";
    try {
      adapted_layers(options, kNames);
      FAIL() << target;
    } catch (const DataError& error) {
      EXPECT_TRUE(error.problem().starts_with("adapters/one: target_modules: ")) << error.what();
    }
  }
}

TEST(AdaptedLayers, OfAFileAreThoseOfItsTargetsThatAreHere) {
  AdapterOptions options;
  options.settings.targets = {"query_key_value", "q_proj"};
  EXPECT_THROW(adapted_layers(options, kNames), UsageError) << "a deck names what it means";
  options.file = "adapters/one";
  AdapterOptions alone = options;
  alone.settings.targets = {"q_proj"};
  EXPECT_EQ(adapted_layers(options, kNames), adapted_layers(alone, kNames));
  options.settings.targets = {"query_key_value", "dense"};
  EXPECT_THROW(adapted_layers(options, kNames), DataError);
  options.settings.targets = {"lm_head", "q_proj"};
  EXPECT_THROW(adapted_layers(options, kNames), DataError);
}

TEST(AdaptedLayers, RefuseOptionsOutOfRange) {
  for (const AdapterOptions& options :
       {AdapterOptions{.settings = {.rank = 0}}, AdapterOptions{.settings = {.alpha = 0}},
        AdapterOptions{.settings = {.dropout = 1}}, AdapterOptions{.settings = {.dropout = -0.1}}})
    EXPECT_THROW(adapted_layers(options, kNames), UsageError);
}

TEST(AdapterOptions, ScaleByRankOrItsRoot) {
  EXPECT_EQ((LayerAdapter{16, 8}).scaling(false), 0.5);
  EXPECT_EQ((LayerAdapter{16, 8}).scaling(true), 2.0);
}

std::string refusal(const AdapterOptions& options) {
  try {
    layer_adapters(options, kNames);
    saved_modules(options, {"model.embed_tokens", "model.layers.0.input_layernorm", "model.norm", "lm_head"}, kNames);
  } catch (const UsageError& error) {
    return std::string("usage: ") + error.what();
  } catch (const DataError& error) {
    return std::string("data: ") + error.what();
  }
  return "none";
}

TEST(LayerAdapters, RefusePatternsThatNameNothingInADeck) {
  AdapterOptions options{.matcher = whole_matches};
  options.settings.patterns = {{{"q_proj", 4}}, {{"x_proj", 4}}};
  EXPECT_NE(refusal(options).find("usage: method.alpha_pattern: \"x_proj\" matches no layer"), std::string::npos)
      << refusal(options);
  options.file = "adapters/one";
  EXPECT_EQ(refusal(options), "none") << "PEFT ignores them, too";
  options.settings.patterns = {{{"(", 4}}, {}};
  EXPECT_EQ(refusal(options).find("data: adapters/one: rank_pattern: the regular expression ( cannot be used"), 0U)
      << refusal(options);
  options.file.clear();
  EXPECT_NE(refusal(options).find("usage: method.rank_pattern: "), std::string::npos) << refusal(options);
  options.settings.patterns = {{}, {{"q_proj", -1}}};
  EXPECT_NE(refusal(options).find("above 0"), std::string::npos) << refusal(options);
}

TEST(SavedModules, AreEmbeddingsNormsAndTheOutputLayer) {
  const std::vector<std::string> modules{"model.embed_tokens", "model.layers.0.input_layernorm", "model.norm",
                                         "lm_head"};
  const auto saved = [&](std::vector<std::string> names) {
    return saved_modules({.settings = {.modules_to_save = std::move(names)}}, modules, kNames);
  };
  EXPECT_EQ(saved({}), std::vector<std::string>{});
  EXPECT_EQ(saved({"lm_head", "embed_tokens"}), (std::vector<std::string>{modules[0], modules[3]}));
  EXPECT_EQ(saved({"norm"}), (std::vector<std::string>{modules[1], modules[2]}));
  EXPECT_EQ(saved({"model.norm"}), std::vector<std::string>{modules[2]});
  for (const auto& [name, why] :
       {std::pair{"q_proj", "names linear layers"}, std::pair{"score", "is no module that can be trained whole"}}) {
    EXPECT_NE(refusal({.settings = {.modules_to_save = {name}}}).find(why), std::string::npos) << name;
    EXPECT_EQ(refusal({.settings = {.modules_to_save = {name}}, .file = "a"}).find("data: a: modules_to_save"), 0U)
        << name;
  }
}

}  // namespace
}  // namespace multicard
