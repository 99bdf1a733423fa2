// The tables of what is known of others' model folders, and the document that shows them.

#include "nn/language/ConfigKeys.hpp"

#include <set>

#include <gtest/gtest.h>

#include "io/Bytes.hpp"
#include "nn/language/Llama.hpp"
#include "state/AdapterKeys.hpp"
#include "state/WeightKeys.hpp"
#include "support/test_world.hpp"
#include "text/tokenizer/TokenizerKeys.hpp"

namespace multicard {
namespace {

std::vector<ForeignFormat> all_formats() {
  std::vector<ForeignFormat> all = config_formats();
  for (const auto& more : {weight_formats(), tokenizer_formats(), adapter_formats()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(ConfigKeys, AreTheTablesOfTheDocument) {
  const std::string document = read_file(test::source_path("docs/models.md").string());
  for (const ForeignFormat& format : all_formats()) {
    const std::string block =
        "<!-- keys of format " + format.name + " -->\n" + markdown_table(format) + "<!-- end of keys -->\n";
    EXPECT_NE(document.find(block), std::string::npos)
        << "docs/models.md differs in the keys of " << format.name << ": run scripts/update_docs.py";
  }
}

TEST(ConfigKeys, StandInATableOnce) {
  std::vector<ForeignFormat> formats = all_formats();
  using enum LlamaArchitecture;
  for (const LlamaArchitecture architecture : {llama, mistral, qwen2, qwen3})
    formats.push_back(config_format(architecture));
  for (const ForeignFormat& format : formats) {
    std::set<std::string> names;
    for (const std::span<const ForeignKey> keys : format.keys)
      for (const ForeignKey& key : keys) {
        EXPECT_TRUE(names.insert(key.name).second) << format.name << " " << key.name;
        EXPECT_NE(std::string(key.note), "") << key.name;
      }
  }
}

TEST(ConfigKeys, NameAllTensorsOfTheNetworks) {
  LlamaConfig config;
  config.vocabulary_size = config.hidden_size = config.intermediate_size = 64;
  config.num_layers = 12;
  config.num_heads = config.num_kv_heads = 2;
  config.head_dim = 32;
  config.has_qkv_bias = config.has_output_bias = config.has_mlp_bias = config.has_head_norms = true;

  const Llama network(config, at::kFloat, at::kMeta);
  for (const NamedTensor& weight : network.weights()) {
    const ForeignKey* known = known_tensor(weight.name);
    EXPECT_TRUE(known && known->use == KeyUse::used) << weight.name;
  }
  EXPECT_EQ(known_tensor("model.layers.0.self_attn.rotary_emb.inv_freq")->use, KeyUse::harmless);
  EXPECT_EQ(known_tensor("model.layers.3.mlp.up_proj.qweight")->use, KeyUse::unsupported);
  EXPECT_EQ(known_tensor("model.layers.x.mlp.up_proj.weight"), nullptr);
}

}  // namespace
}  // namespace multicard
