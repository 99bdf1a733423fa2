#include "nn/language/LlamaConfig.hpp"

#include <cmath>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using nlohmann::json;

json llama8b() {
  return json::parse(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096,
    "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false,
    "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256})");
}

LlamaConfig parsed(const json& object) {
  return LlamaConfig::parse(object.dump(), "folder/config.json");
}

// The same with some keys changed; null removes one.
json changed(json object, const json& changes) {
  for (const auto& [key, value] : changes.items())
    if (value.is_null())
      object.erase(key);
    else
      object[key] = value;
  return object;
}

TEST(LlamaConfig, ReadsTheShapeOfLlama) {
  const LlamaConfig config = parsed(llama8b());

  EXPECT_EQ(config.num_parameters(), 8030261248);
  EXPECT_EQ(config.num_matmul_parameters(), 7504658432);
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(config.kv_size(), 1024);
  EXPECT_EQ(config.norm_epsilon, 1e-5);
  EXPECT_EQ(config.rope_theta, 500000.0);
  EXPECT_EQ(config.rope_scaling.kind, RopeScaling::Kind::llama3);
  EXPECT_EQ(config.rope_scaling.original_max_positions, 8192);
  EXPECT_EQ(config.bos, 128000);
  EXPECT_EQ(config.eos, (std::vector<std::int64_t>{128001, 128008, 128009}));
  EXPECT_EQ(config.weights_dtype, at::kBFloat16);
  EXPECT_FALSE(config.has_tied_embeddings || config.has_qkv_bias || config.has_output_bias || config.has_mlp_bias);
  EXPECT_EQ(config.window(5), 0);
}

TEST(LlamaConfig, ReadsTheNewSpelling) {
  const json scaling = {{"factor", 32.0},        {"low_freq_factor", 1.0}, {"high_freq_factor", 4.0},
                        {"rope_type", "llama3"}, {"rope_theta", 250000.0}, {"original_max_position_embeddings", 8192}};
  const LlamaConfig config = parsed(changed(llama8b(), {{"rope_scaling", nullptr},
                                                        {"rope_theta", nullptr},
                                                        {"rope_parameters", scaling},
                                                        {"torch_dtype", nullptr},
                                                        {"dtype", "float16"}}));

  EXPECT_EQ(config.rope_theta, 250000.0);
  EXPECT_EQ(config.rope_scaling.factor, 32.0);
  EXPECT_EQ(config.weights_dtype, at::kHalf);
}

TEST(LlamaConfig, FillsWhatIsLeftOut) {
  const LlamaConfig config = parsed(changed(llama8b(), {{"num_key_value_heads", nullptr},
                                                        {"rope_scaling", nullptr},
                                                        {"rope_theta", nullptr},
                                                        {"eos_token_id", 7},
                                                        {"torch_dtype", nullptr}}));

  EXPECT_EQ(config.num_kv_heads, 32);
  EXPECT_EQ(parsed(changed(llama8b(), {{"max_position_embeddings", nullptr}, {"rope_scaling", nullptr}})).max_positions,
            2048);
  EXPECT_EQ(config.rope_theta, 10000.0);
  EXPECT_EQ(config.rope_scaling.kind, RopeScaling::Kind::none);
  EXPECT_EQ(config.eos, std::vector<std::int64_t>{7});
  EXPECT_FALSE(config.weights_dtype.has_value());
  EXPECT_EQ(parsed(changed(llama8b(), {{"head_dim", 64}})).query_size(), 2048);
}

TEST(LlamaConfig, CountsTiedEmbeddingsOnce) {
  const LlamaConfig tied = parsed(changed(llama8b(), {{"tie_word_embeddings", true}}));

  EXPECT_EQ(tied.num_parameters(), 8030261248 - 525336576);
  EXPECT_EQ(tied.num_matmul_parameters(), 7504658432);
}

// The same of another class.
json of_class(const char* name, const char* type, const json& changes = json::object()) {
  return changed(changed(llama8b(), {{"architectures", {name}}, {"model_type", type}}), changes);
}

TEST(LlamaConfig, KnowsWhatMistralAndQwenAddToLlama) {
  const json mistral = of_class("MistralForCausalLM", "mistral");
  EXPECT_EQ(parsed(mistral).window(31), 4096);
  EXPECT_EQ(parsed(changed(mistral, {{"sliding_window", 1024}})).window(0), 1024);
  json null_window = mistral;
  null_window["sliding_window"] = nullptr;
  EXPECT_EQ(parsed(null_window).window(0), 0);

  const json qwen = of_class("Qwen2ForCausalLM", "qwen2", {{"sliding_window", 512}});
  const LlamaConfig plain = parsed(qwen);
  EXPECT_TRUE(plain.has_qkv_bias && !plain.has_output_bias && !plain.has_mlp_bias);
  EXPECT_EQ(plain.window(31), 0);
  json no_window = changed(qwen, {{"use_sliding_window", true}});
  no_window["sliding_window"] = nullptr;
  EXPECT_EQ(parsed(no_window).window(30), 0);
  const LlamaConfig windowed = parsed(changed(qwen, {{"use_sliding_window", true}, {"max_window_layers", 30}}));
  EXPECT_EQ(windowed.window(29), 0);
  EXPECT_EQ(windowed.window(30), 512);
  EXPECT_EQ(parsed(qwen).num_parameters(), 8030261248 + 32 * (4096 + 2 * 1024));
}

TEST(LlamaConfig, KnowsWhatQwen3AddsToLlama) {
  const json qwen = of_class("Qwen3ForCausalLM", "qwen3", {{"head_dim", 64}});

  const LlamaConfig plain = parsed(qwen);

  EXPECT_EQ(plain.architecture, LlamaArchitecture::qwen3);
  EXPECT_EQ(name_of(plain.architecture), "Qwen3ForCausalLM");
  EXPECT_TRUE(plain.has_head_norms && !plain.has_qkv_bias && !plain.has_output_bias && !plain.has_mlp_bias);
  EXPECT_EQ(plain.query_size(), 2048);
  const LlamaConfig llama = parsed(changed(llama8b(), {{"head_dim", 64}}));
  EXPECT_FALSE(llama.has_head_norms);
  EXPECT_EQ(plain.num_parameters(), llama.num_parameters() + 32 * 2 * 64);
  const LlamaConfig biased = parsed(changed(qwen, {{"attention_bias", true}}));
  EXPECT_TRUE(biased.has_qkv_bias && biased.has_output_bias);
  EXPECT_EQ(parsed(changed(qwen, {{"head_dim", nullptr}})).head_dim, 128);
  EXPECT_EQ(parsed(changed(qwen, {{"num_key_value_heads", nullptr}, {"num_attention_heads", 64}})).num_kv_heads, 32);
  EXPECT_EQ(parsed(changed(qwen, {{"use_sliding_window", true}, {"sliding_window", 9}, {"max_window_layers", 30}}))
                .window(30),
            9);
  EXPECT_EQ(parsed(changed(qwen, {{"architectures", nullptr}, {"model_type", "qwen3"}})).architecture,
            LlamaArchitecture::qwen3);
}

// The error of a file with these changes, or "" if there is none.
std::string refusal(const json& changes) {
  try {
    parsed(changed(llama8b(), changes));
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(LlamaConfig, NamesTheNetworkThatIsNotSupported) {
  const std::vector<std::pair<const char*, const char*>> others{{"MixtralForCausalLM", "mixtral"},
                                                                {"Gemma3ForCausalLM", "gemma3_text"},
                                                                {"Qwen3MoeForCausalLM", "qwen3_moe"},
                                                                {"Phi3ForCausalLM", "phi3"}};
  for (const auto& [name, type] : others) {
    EXPECT_NE(refusal({{"architectures", {name}}, {"model_type", type}}).find(name), std::string::npos) << name;
    const std::string by_type = refusal({{"architectures", nullptr}, {"model_type", type}});
    EXPECT_NE(by_type.find(type), std::string::npos) << by_type;
    EXPECT_NE(by_type.find("Qwen3ForCausalLM are supported"), std::string::npos) << by_type;
  }
  for (const char* type : {"gemma", "phi3", "mistral"})
    EXPECT_NE(refusal({{"model_type", type}}).find("is not the network that architectures names"), std::string::npos)
        << type << " with the class of Llama";
}

TEST(LlamaConfig, NamesFileAndKeyOfWhatItRefuses) {
  const std::vector<std::pair<std::string, json>> wrong{{"architectures", {"GPT2LMHeadModel"}},
                                                        {"architectures", json::array()},
                                                        {"architectures", "LlamaForCausalLM"},
                                                        {"hidden_size", 0},
                                                        {"hidden_size", -4096},
                                                        {"hidden_size", 4096.5},
                                                        {"hidden_size", "4096"},
                                                        {"hidden_size", 18446744073709551615U},
                                                        {"hidden_size", nullptr},
                                                        {"vocab_size", 1e300},
                                                        {"num_hidden_layers", 1000000000},
                                                        {"num_key_value_heads", 5},
                                                        {"num_key_value_heads", 64},
                                                        {"head_dim", 7},
                                                        {"hidden_act", "gelu"},
                                                        {"hidden_act", 3},
                                                        {"rms_norm_eps", 0},
                                                        {"rms_norm_eps", "small"},
                                                        {"rope_theta", -1},
                                                        {"rope_scaling", "llama3"},
                                                        {"tie_word_embeddings", "yes"},
                                                        {"torch_dtype", "int8"},
                                                        {"eos_token_id", {1, -2}},
                                                        {"eos_token_id", {{"a", 1}}},
                                                        {"attention_dropout", 1.5},
                                                        {"attention_dropout", "0.1"},
                                                        {"model_type", "mistral"},
                                                        {"sliding_window", 4096},
                                                        {"layer_types", {"sliding_attention"}},
                                                        {"pruned_heads", {{"1", {2}}}},
                                                        {"num_local_experts", 8},
                                                        {"per_layer_config", {{"1", {{"head_dim", 2}}}}},
                                                        {"quantization_config", {{"bits", 4}}},
                                                        {"partial_rotary_factor", 0.5}};
  for (const auto& [key, value] : wrong) {
    const std::string message = refusal({{key, value}});
    EXPECT_NE(message.find("folder/config.json"), std::string::npos) << key << " = " << value << ": " << message;
    EXPECT_NE(message.find(key), std::string::npos) << key << " = " << value << ": " << message;
  }
}

TEST(LlamaConfig, NamesUnknownLawsOfRotaryPositions) {
  const std::string message = refusal({{"rope_scaling", {{"type", "su"}, {"factor", 2.0}}}});

  EXPECT_NE(message.find("rope_scaling.type"), std::string::npos) << message;
  EXPECT_NE(message.find("\"su\""), std::string::npos) << message;
  for (const char* key : {"short_factor", "full_attention", "mrope_section"})
    EXPECT_NE(refusal({{"rope_scaling", {{"rope_type", "default"}, {key, {1}}}}}).find(key), std::string::npos) << key;
  EXPECT_NE(refusal({{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 2.0}}}}), "");
  EXPECT_NE(refusal({{"rope_scaling", {{"rope_type", "linear"}}}}), "");
  EXPECT_EQ(refusal({{"rope_scaling", {{"rope_type", "linear"}, {"factor", 2}}}}), "");
}

TEST(LlamaConfig, ReadsRotaryPositionsInTheOrderOfTransformers) {
  const json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}, {"rope_theta", 3e6}};
  const json both = {{"rope_parameters", {{"rope_type", "linear"}, {"factor", 2.0}, {"rope_theta", 7e6}}}};

  const LlamaConfig scaled = parsed(changed(changed(llama8b(), both), {{"rope_scaling", {{"type", "default"}}}}));
  const LlamaConfig yarned = parsed(changed(
      llama8b(), {{"rope_scaling", yarn}, {"rope_parameters", nullptr}, {"original_max_position_embeddings", 4096}}));

  EXPECT_EQ(scaled.rope_scaling.kind, RopeScaling::Kind::none) << "rope_scaling takes the place of rope_parameters";
  EXPECT_EQ(scaled.rope_theta, 500000.0) << "and has the base of config.json";
  EXPECT_EQ(scaled.remarks.size(), 1);
  EXPECT_EQ(yarned.rope_scaling.kind, RopeScaling::Kind::yarn);
  EXPECT_EQ(yarned.rope_theta, 3e6);
  EXPECT_EQ(yarned.rope_scaling.original_max_positions, 4096);
  EXPECT_NEAR(yarned.rope_scaling.attention_factor, 1 + 0.1 * std::log(4.0), 1e-12);
  EXPECT_EQ(
      parsed(changed(llama8b(), {{"original_max_position_embeddings", 4096}})).rope_scaling.original_max_positions,
      4096);
  EXPECT_EQ(parsed(changed(llama8b(), {{"rope_scaling", {{"type", "dynamic"}, {"factor", 2}}}})).rope_scaling.kind,
            RopeScaling::Kind::none);
}

TEST(LlamaConfig, DistinguishesNullFromWhatIsMissingWhereTransformersDoes) {
  json qwen = of_class("Qwen2ForCausalLM", "qwen2", {{"num_key_value_heads", nullptr}, {"num_attention_heads", 64}});
  EXPECT_EQ(parsed(qwen).num_kv_heads, 32);

  qwen["num_key_value_heads"] = nullptr;

  EXPECT_EQ(parsed(qwen).num_kv_heads, 64);
  json with_nulls = llama8b();
  for (const char* key : {"head_dim", "hidden_act", "rms_norm_eps", "quantization_config", "rope_parameters",
                          "attention_dropout", "a_key_of_tomorrow"})
    with_nulls[key] = nullptr;
  EXPECT_TRUE(parsed(with_nulls).remarks.empty());
}

TEST(LlamaConfig, KnowsWhichLayersOfEachClassHaveAWindow) {
  const std::vector<std::string> full(32, "full_attention");
  std::vector<std::string> mixed = full, sliding(32, "sliding_attention");
  mixed[3] = "sliding_attention";
  const json window = {{"use_sliding_window", true}, {"sliding_window", 512}};
  const auto refused = [](const json& object) {
    try {
      parsed(object);
    } catch (const DataError& error) {
      return std::string(error.what()).find("layer_types") != std::string::npos;
    }
    return false;
  };

  const LlamaConfig qwen = parsed(changed(of_class("Qwen3ForCausalLM", "qwen3", window), {{"layer_types", mixed}}));

  EXPECT_EQ(qwen.window(2), 0);
  EXPECT_EQ(qwen.window(3), 512);
  EXPECT_EQ(qwen.window(31), 0) << "max_window_layers does not count where there are layer_types";
  EXPECT_TRUE(refused(of_class("Qwen3ForCausalLM", "qwen3", {{"layer_types", mixed}}))) << "without a window";
  EXPECT_FALSE(refused(of_class("Qwen3ForCausalLM", "qwen3", {{"layer_types", full}})));
  EXPECT_TRUE(refused(of_class("MistralForCausalLM", "mistral", {{"layer_types", mixed}})));
  EXPECT_FALSE(refused(of_class("MistralForCausalLM", "mistral", {{"layer_types", sliding}})));
  EXPECT_TRUE(refused(changed(llama8b(), {{"layer_types", mixed}})));
  EXPECT_FALSE(refused(changed(llama8b(), {{"layer_types", full}})));
  EXPECT_EQ(refusal({{"sliding_window", 131072}}), "") << "one of all positions is none";
}

TEST(LlamaConfig, NamesWhatItLeavesOut) {
  const LlamaConfig config = parsed(changed(llama8b(), {{"rms_norm_epsilon", 1e-6},
                                                        {"logit_scale", 1.0},
                                                        {"use_qk_norm", false},
                                                        {"attention_dropout", 0.1},
                                                        {"id2label", {{"0", "LABEL_0"}}},
                                                        {"a_key_of_tomorrow", 1}}));

  ASSERT_EQ(config.remarks.size(), 2);
  EXPECT_EQ(config.remarks[0], "folder/config.json: a_key_of_tomorrow is not read: no such key is known");
  EXPECT_EQ(config.remarks[1],
            "folder/config.json: rms_norm_epsilon is not read: no such key is known; did you mean rms_norm_eps?");
  EXPECT_EQ(config.attention_dropout, 0.1);
  EXPECT_NE(refusal({{"logit_scale", 0.5}}).find("logit_scale"), std::string::npos);
}

TEST(LlamaConfig, ReadsHowWeightsArePacked) {
  const json nf4 = {{"quant_method", "bitsandbytes"},
                    {"load_in_4bit", true},
                    {"bnb_4bit_quant_type", "nf4"},
                    {"bnb_4bit_quant_storage", "bfloat16"},
                    {"llm_int8_skip_modules", {"lm_head", "model.layers.1.mlp"}}};

  const LlamaConfig config = parsed(changed(llama8b(), {{"quantization_config", nf4}}));

  EXPECT_TRUE(config.is_stored_in_nf4 && config.remarks.empty());
  EXPECT_EQ(config.skipped_modules, (std::vector<std::string>{"lm_head", "model.layers.1.mlp"}));
  for (const json& wrong :
       {json{{"bnb_4bit_quant_type", "fp4"}}, json{{"load_in_4bit", nullptr}}, json{{"load_in_8bit", true}},
        json{{"llm_int8_skip_modules", "lm_head"}}, json{{"quant_method", "gptq"}}})
    EXPECT_NE(refusal({{"quantization_config", changed(nf4, wrong)}}).find("quantization_config"), std::string::npos)
        << wrong;
}

TEST(LlamaConfig, RefusesWhatIsNotAnObject) {
  const std::string deep(100000, '[');
  for (const std::string& text : {std::string(), std::string("{"), std::string("[1]"), std::string("null"), deep})
    EXPECT_THROW(LlamaConfig::parse(text, "x"), DataError);
}

TEST(LlamaConfig, ReadsAFolderWithTheEndTokensOfGeneration) {
  const test::ScratchFolder folder;
  EXPECT_THROW(LlamaConfig::read(folder.path().string()), DataError);
  std::ofstream(folder / "config.json") << changed(llama8b(), {{"eos_token_id", 128001}}).dump();
  EXPECT_EQ(LlamaConfig::read(folder.path().string()).eos, std::vector<std::int64_t>{128001});

  std::ofstream(folder / "generation_config.json") << R"({"eos_token_id": [128001, 128009]})";

  EXPECT_EQ(LlamaConfig::read(folder.path().string()).eos, (std::vector<std::int64_t>{128001, 128009}));
}

TEST(LlamaConfig, NamesWhatOfGenerationItLeavesOut) {
  const test::ScratchFolder folder;
  std::ofstream(folder / "config.json") << llama8b().dump();
  std::ofstream(folder / "generation_config.json")
      << R"({"eos_token_id": 2, "temperature": 0.6, "do_sample": true, "repetition_penalty": 1.05, "num_beams": 1,
             "no_repeat_ngram_size": 3, "temperture": 0.7, "guidance_scale": null})";

  const LlamaConfig config = LlamaConfig::read(folder.path().string());

  ASSERT_EQ(config.generation_remarks.size(), 3);
  EXPECT_NE(config.generation_remarks[0].find("no_repeat_ngram_size"), std::string::npos);
  EXPECT_NE(config.generation_remarks[1].find("--repetition-penalty"), std::string::npos);
  EXPECT_NE(config.generation_remarks[2].find("did you mean temperature?"), std::string::npos);
}

}  // namespace
}  // namespace multicard
