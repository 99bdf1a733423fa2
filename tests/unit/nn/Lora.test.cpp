#include "nn/Lora.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "text/NameMatch.hpp"

namespace multicard {
namespace {

const std::vector<std::string> kNames{"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.v_proj",
                                      "model.layers.0.mlp.up_proj",      "model.layers.1.self_attn.q_proj",
                                      "model.layers.1.self_attn.v_proj", "model.layers.1.mlp.up_proj"};

std::vector<std::string> adapted(std::vector<std::string> targets) {
  AdapterOptions options;
  options.targets = std::move(targets);
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
  const auto targets = [](std::string target) { return AdapterOptions{.targets = {std::move(target)}}; };

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
  EXPECT_NE(endless.find("gives up"), std::string::npos) << endless;
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
    options.targets = {target};
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

TEST(AdaptedLayers, RefuseOptionsOutOfRange) {
  for (const AdapterOptions& options : {AdapterOptions{.rank = 0}, AdapterOptions{.alpha = 0},
                                        AdapterOptions{.dropout = 1}, AdapterOptions{.dropout = -0.1}})
    EXPECT_THROW(adapted_layers(options, kNames), UsageError);
}

TEST(AdapterOptions, ScaleByRankOrItsRoot) {
  EXPECT_EQ((AdapterOptions{.rank = 16, .alpha = 8}).scaling(), 0.5);
  EXPECT_EQ((AdapterOptions{.rank = 16, .alpha = 8, .rslora = true}).scaling(), 2.0);
}

}  // namespace
}  // namespace multicard
