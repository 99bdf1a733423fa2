#include "state/AdapterPatterns.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "text/tokenizer/NameMatch.hpp"

namespace multicard {
namespace {

const std::vector<std::string> kLayers{"model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.v_proj",
                                       "model.layers.1.self_attn.q_proj", "model.layers.10.self_attn.q_proj"};

std::vector<int> ranks(const LayerPatterns<int>& patterns) {
  std::vector<int> found;
  for (const LayerAdapter& adapter : AdapterPatterns{patterns, {}}.apply({8, 16}, kLayers, whole_matches))
    found.push_back(adapter.rank);
  return found;
}

using Ranks = std::vector<int>;

TEST(AdapterPatterns, MatchWholeNamesAndTheirLastParts) {
  EXPECT_EQ(ranks({{"q_proj", 4}}), (Ranks{4, 8, 4, 4}));
  EXPECT_EQ(ranks({{"self_attn.q_proj", 4}}), (Ranks{4, 8, 4, 4}));
  EXPECT_EQ(ranks({{"model.layers.0.self_attn.q_proj", 4}}), (Ranks{4, 8, 8, 8}));
  EXPECT_EQ(ranks({{R"(^model\.layers\.0\..*)", 4}}), (Ranks{4, 4, 8, 8}));
  EXPECT_EQ(ranks({{R"(layers\.[01]\.self_attn\.(q|v)_proj)", 4}}), (Ranks{4, 4, 4, 8}));
}

TEST(AdapterPatterns, DoNotMatchPartsOfWords) {
  for (const char* pattern : {"proj", "_proj", "self_attn", "layers.0", "^q_proj", "q_pro", "0.self_attn.q_proj.x"})
    EXPECT_EQ(ranks({{pattern, 4}}), (Ranks{8, 8, 8, 8})) << pattern;
  EXPECT_EQ(ranks({{"0.self_attn.q_proj", 4}}), (Ranks{4, 8, 8, 8})) << "layer 10 has another number";
}

TEST(AdapterPatterns, TakeTheFirstThatMatches) {
  EXPECT_EQ(ranks({{"v_proj", 2}, {".*", 4}}), (Ranks{4, 2, 4, 4}));
  EXPECT_EQ(ranks({{".*", 4}, {"v_proj", 2}}), (Ranks{4, 4, 4, 4}));
}

TEST(AdapterPatterns, SetRankAndAlphaByThemselves) {
  const AdapterPatterns patterns{{{"q_proj", 4}}, {{R"(layers\.0\..*)", 32}}};

  const std::vector<LayerAdapter> adapters = patterns.apply({8, 16}, kLayers, whole_matches);

  EXPECT_EQ(adapters, (std::vector<LayerAdapter>{{4, 32}, {8, 32}, {4, 16}, {4, 16}}));
  EXPECT_EQ(adapters[0].scaling(false), 8);
  EXPECT_EQ(adapters[0].scaling(true), 16);
}

TEST(AdapterPatterns, NeedAMatcherAndAnExpression) {
  EXPECT_THROW((AdapterPatterns{{{"q_proj", 4}}, {}}.apply({}, kLayers, {})), std::logic_error);
  EXPECT_EQ(AdapterPatterns{}.apply({8, 16}, kLayers, {}).size(), kLayers.size());
  EXPECT_THROW(ranks({{"(q", 4}}), DataError);
}

TEST(ModulesToSave, AreNamedByTheirLastLetters) {
  EXPECT_TRUE(is_module_to_save("model.layers.0.input_layernorm", {"lm_head", "norm"}));
  EXPECT_TRUE(is_module_to_save("lm_head", {"lm_head"}));
  EXPECT_FALSE(is_module_to_save("model.norm", {"lm_head", "layernorm"}));
  EXPECT_FALSE(is_module_to_save("model.norm", {}));
}

}  // namespace
}  // namespace multicard
