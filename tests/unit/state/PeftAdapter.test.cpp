#include "state/PeftAdapter.hpp"

#include <cmath>
#include <filesystem>

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

const std::string kTuned = test::source_path("tests/data/oracles/lora/adapter_final").string();
const std::string kLayer = "model.layers.0.self_attn.q_proj";

#define EXPECT_CONTAINS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

std::string config_text(const std::string& more) {
  return R"({"peft_type": "LORA", "target_modules": ["q_proj"])" + (more.empty() ? "" : ", " + more) + "}";
}

std::string refusal(const std::string& text) {
  try {
    parse_adapter_config(text, "adapter_config.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(AdapterConfig, HasThePeersDefaults) {
  const AdapterConfig config = parse_adapter_config(config_text(""), "x");

  EXPECT_EQ(config.settings.rank, 8);
  EXPECT_EQ(config.settings.alpha, 8.0);
  EXPECT_EQ(config.settings.dropout, 0.0);
  EXPECT_FALSE(config.settings.rslora);
  EXPECT_EQ(config.settings.targets, std::vector<std::string>{"q_proj"});
  EXPECT_EQ(config.base_model, "");
  EXPECT_EQ(config.settings.common().scaling(config.settings.rslora), 1.0);
}

TEST(AdapterConfig, ReadsWhatItSays) {
  const AdapterConfig config = parse_adapter_config(
      R"({"peft_type": "LORA", "target_modules": ".*_proj", "r": 16, "lora_alpha": 24.5, "lora_dropout": 0.1,
          "use_rslora": true, "base_model_name_or_path": "a/b", "a key of tomorrow": {"x": [1]}, "bias": "none",
          "modules_to_save": ["lm_head"], "rank_pattern": {"v_proj": 2, "a": 3}, "alpha_pattern": {"q_proj": 0.5},
          "ensure_weight_tying": false, "layers_to_transform": [], "use_dora": false,
          "init_lora_weights": "gaussian"})",
      "x");

  EXPECT_EQ(config.settings.rank, 16);
  EXPECT_EQ(config.settings.alpha, 24.5);
  EXPECT_EQ(config.settings.dropout, 0.1);
  EXPECT_EQ(config.settings.common().scaling(config.settings.rslora), 24.5 / 4);
  EXPECT_EQ(config.settings.targets, std::vector<std::string>{".*_proj"});
  EXPECT_EQ(config.target_kind, TargetKind::pattern);
  EXPECT_EQ(config.base_model, "a/b");
  EXPECT_EQ(config.settings.modules_to_save, std::vector<std::string>{"lm_head"});
  EXPECT_EQ(config.settings.patterns.rank, (LayerPatterns<int>{{"v_proj", 2}, {"a", 3}})) << "in the order of the file";
  EXPECT_EQ(config.settings.patterns.alpha, (LayerPatterns<double>{{"q_proj", 0.5}}));
}

TEST(AdapterConfig, RefusesWhatChangesTheArithmetic) {
  for (const char* setting :
       {R"("use_dora": true)", R"("bias": "all")", R"("ensure_weight_tying": true, "modules_to_save": ["lm_head"])",
        R"("lora_bias": true)", R"("target_parameters": ["x"])", R"("trainable_token_indices": [1])",
        R"("init_lora_weights": "pissa_niter_16")", R"("init_lora_weights": "loftq")",
        R"("init_lora_weights": "of tomorrow")", R"("kasa_config": {"r": 1})"}) {
    const std::string key = std::string(setting).substr(1, std::string(setting).find('"', 1) - 1);
    EXPECT_CONTAINS(refusal(config_text(setting)), "adapter_config.json: " + key + " cannot be used");
  }
}

TEST(AdapterConfig, RefusesImpossibleValues) {
  for (const char* setting :
       {R"("r": 0)", R"("r": -8)", R"("r": 1e30)", R"("r": 8.5)", R"("r": "8")", R"("lora_alpha": [8])",
        R"("lora_dropout": 1.0)", R"("lora_dropout": -0.1)", R"("base_model_name_or_path": 7)",
        R"("use_rslora": "false")", R"("rank_pattern": ["q_proj"])", R"("rank_pattern": {"q_proj": 0})",
        R"("rank_pattern": {"q_proj": 1.5})", R"("alpha_pattern": {"q_proj": "8"})", R"("modules_to_save": "lm_head")",
        R"("modules_to_save": [""])", R"("modules_to_save": [1])"}) {
    const std::string key = std::string(setting).substr(1, std::string(setting).find('"', 1) - 1);
    EXPECT_CONTAINS(refusal(config_text(setting)), ": " + key + " cannot be used");
  }
  for (const char* targets : {"7", "[]", "[7]", "\"\"", "{}"})
    EXPECT_CONTAINS(refusal(std::string(R"({"peft_type": "LORA", "target_modules": )") + targets + "}"),
                    "target_modules cannot be used");
  EXPECT_CONTAINS(refusal(R"({"peft_type": "IA3"})"), "only LORA");
  for (const char* text : {"", "{", "[]", "7", "null"})
    EXPECT_CONTAINS(refusal(text), "is not a PEFT configuration");
}

TEST(AdapterConfig, IsWrittenAsThePeerWritesIt) {
  AdapterConfig config;
  config.settings.rank = 4;
  config.settings.alpha = 16;
  config.settings.dropout = 0.05;
  config.settings.targets = {"q_proj", "v_proj"};
  config.base_model = "base \"x\"";

  EXPECT_EQ(adapter_config_json(config), R"({
  "alpha_pattern": {},
  "auto_mapping": null,
  "base_model_name_or_path": "base \"x\"",
  "bias": "none",
  "fan_in_fan_out": false,
  "inference_mode": true,
  "init_lora_weights": true,
  "layers_pattern": null,
  "layers_to_transform": null,
  "lora_alpha": 16,
  "lora_dropout": 0.05,
  "modules_to_save": null,
  "peft_type": "LORA",
  "peft_version": "0.21.2",
  "r": 4,
  "rank_pattern": {},
  "revision": null,
  "target_modules": [
    "q_proj",
    "v_proj"
  ],
  "task_type": "CAUSAL_LM",
  "use_dora": false,
  "use_rslora": false
})");
}

TEST(AdapterConfig, SurvivesWritingAndReading) {
  AdapterConfig config;
  config.settings.alpha = 0.1;
  config.settings.rslora = true;
  config.settings.targets = {R"(model\.layers\.[01]\..*)"};
  config.target_kind = TargetKind::pattern;
  config.settings.patterns.rank = {{R"(^model\.layers\.1\..*)", 6}, {"down_proj", 3}, {"\"a\"", 1}};
  config.settings.patterns.alpha = {{"z", 1.5}, {"a", 2}};
  config.settings.modules_to_save = {"norm", "lm_head"};

  const AdapterConfig read = parse_adapter_config(adapter_config_json(config), "x");

  EXPECT_EQ(read.settings.alpha, 0.1);
  EXPECT_TRUE(read.settings.rslora);
  EXPECT_EQ(read.settings.targets, config.settings.targets);
  EXPECT_EQ(read.target_kind, TargetKind::pattern);
  EXPECT_EQ(read.settings.patterns.rank, config.settings.patterns.rank);
  EXPECT_EQ(read.settings.patterns.alpha, config.settings.patterns.alpha);
  EXPECT_EQ(read.settings.modules_to_save, config.settings.modules_to_save);
}

TEST(AdapterConfig, ResolvesTargetsByTheAdaptedLayers) {
  const std::vector<std::string> layers{"model.layers.0.mlp.up_proj", "model.layers.0.self_attn.q_proj",
                                        "model.layers.1.self_attn.q_proj"};
  AdapterConfig config;

  config.settings.targets = {"all-linear"};
  EXPECT_EQ(with_resolved_targets(config, layers).settings.targets, (std::vector<std::string>{"q_proj", "up_proj"}));
  config.settings.targets = {"self_attn.q_proj"};
  EXPECT_EQ(with_resolved_targets(config, layers).target_kind, TargetKind::names);
  config.settings.targets = {".*q_proj"};
  EXPECT_EQ(with_resolved_targets(config, layers).target_kind, TargetKind::pattern);
}

TEST(PeftAdapter, ReadsAndRewritesThePeersFiles) {
  const test::ScratchFolder scratch;
  const PeftAdapter adapter = PeftAdapter::open(kTuned);
  EXPECT_EQ(adapter.layers().size(), 14U);
  EXPECT_EQ(adapter.config().settings.alpha, 16.0);
  EXPECT_EQ(adapter.config().base_model, "tinystories-656K");

  write_adapter(scratch.path().string(), adapter.config(), adapter.file().load_all());

  EXPECT_EQ(read_file(scratch / kAdapterFile), read_file(kTuned + "/" + kAdapterFile));
  EXPECT_EQ(PeftAdapter::open(scratch.path().string()).config().settings.targets, adapter.config().settings.targets);
}

TEST(PeftAdapter, DistinguishesSavedModulesFromAdaptedLayers) {
  const test::ScratchFolder scratch;
  const std::string oracle = test::source_path("tests/data/oracles/patterns/adapter").string();
  const PeftAdapter adapter = PeftAdapter::open(oracle);

  EXPECT_EQ(adapter.layers().size(), 8U);
  EXPECT_EQ(adapter.saved_weights(),
            (std::vector<std::string>{
                "lm_head.weight", "model.embed_tokens.weight", "model.layers.0.input_layernorm.weight",
                "model.layers.0.post_attention_layernorm.weight", "model.layers.1.input_layernorm.weight",
                "model.layers.1.post_attention_layernorm.weight", "model.norm.weight"}));
  write_adapter(scratch.path().string(), adapter.config(), adapter.file().load_all());
  EXPECT_EQ(read_file(scratch / kAdapterFile), read_file(oracle + "/" + kAdapterFile));
  const PeftAdapter again = PeftAdapter::open(scratch.path().string());
  EXPECT_EQ(again.config().settings.patterns.rank, adapter.config().settings.patterns.rank);
  EXPECT_EQ(again.saved_weights(), adapter.saved_weights());
}

TEST(PeftAdapter, TakesTheNamesOfAStateDict) {
  const test::ScratchFolder scratch;
  const std::string oracle = test::source_path("tests/data/oracles/patterns/adapter").string();
  const PeftAdapter adapter = PeftAdapter::open(oracle);
  const auto with_adapter_name = [](std::string name, const std::string& adapter_name) {
    const std::size_t end = name.size() - std::string(".weight").size();
    const bool is_lora = name.find(".lora_") != std::string::npos;
    return name.insert(end, (is_lora ? "." : ".modules_to_save.") + adapter_name);
  };
  const auto write = [&](const std::string& last_adapter) {
    NamedTensors tensors = adapter.file().load_all();
    for (NamedTensor& tensor : tensors)
      tensor.name = with_adapter_name(tensor.name, &tensor == &tensors.back() ? last_adapter : "default");
    save_tensors(scratch / kAdapterFile, tensors);
    write_file(scratch / kAdapterConfigFile, read_file(oracle + "/" + kAdapterConfigFile));
  };

  write("default");
  const PeftAdapter again = PeftAdapter::open(scratch.path().string());
  EXPECT_EQ(again.layers(), adapter.layers());
  EXPECT_EQ(again.saved_weights(), adapter.saved_weights());
  for (const NamedTensor& tensor : adapter.file().load_all())
    EXPECT_TRUE(at::equal(again.file().view(tensor.name), tensor.tensor)) << tensor.name;

  write("other");
  EXPECT_THROW(PeftAdapter::open(scratch.path().string()), DataError);
}

TEST(PeftAdapter, FillsTargetsOfAnotherDtype) {
  const PeftAdapter adapter = PeftAdapter::open(kTuned);
  NamedTensors targets;
  for (const NamedTensor& entry : adapter.file().load_all())
    targets.push_back({entry.name, at::zeros(entry.tensor.sizes(), at::kDouble)});

  adapter.load_into(targets);

  for (const NamedTensor& target : targets)
    EXPECT_TRUE(at::equal(target.tensor, adapter.file().view(target.name).to(at::kDouble))) << target.name;
  targets.pop_back();
  EXPECT_THROW(adapter.load_into(targets), DataError);
}

TEST(PeftAdapter, SaysThatAnotherWidthIsTheAdapters) {
  NamedTensors targets;
  const PeftAdapter adapter = PeftAdapter::open(kTuned);
  for (const NamedTensor& entry : adapter.file().load_all())
    targets.push_back({entry.name, at::zeros({entry.tensor.size(0) + 1, entry.tensor.size(1)})});
  try {
    adapter.load_into(targets);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_CONTAINS(std::string(error.what()), "made for a model of another width");
  }
}

TEST(PeftAdapter, TakesTheLayersThatHaveTensorsWhereSettingsSelectThem) {
  for (const char* setting : {R"("exclude_modules": ["v_proj"])", R"("layers_to_transform": [0])",
                              R"("layers_to_transform": 0, "layers_pattern": "layers")"}) {
    const test::ScratchFolder scratch;
    save_tensors(scratch / kAdapterFile,
                 {{PeftAdapter::a_name(kLayer), at::ones({2, 5})}, {PeftAdapter::b_name(kLayer), at::ones({3, 2})}});
    write_file(scratch / kAdapterConfigFile, config_text(std::string(R"("r": 2, )") + setting));
    const AdapterConfig config = PeftAdapter::open(scratch.path().string()).config();
    EXPECT_EQ(config.settings.targets, std::vector<std::string>{kLayer}) << setting;
    EXPECT_EQ(config.target_kind, TargetKind::names) << setting;
  }
}

TEST(PeftAdapter, RefusesTensorsOfLayersThatSettingsLeaveOut) {
  for (const char* setting : {R"("exclude_modules": ["q_proj"])", R"("exclude_modules": ".*layers\\.0\\..*")",
                              R"("layers_to_transform": [1, 2])", R"("layers_to_transform": 1)"}) {
    const test::ScratchFolder scratch;
    const std::string layer = "model.layers.0.self_attn.q_proj";
    save_tensors(scratch / kAdapterFile,
                 {{PeftAdapter::a_name(layer), at::ones({2, 5})}, {PeftAdapter::b_name(layer), at::ones({3, 2})}});
    write_file(scratch / kAdapterConfigFile, config_text(std::string(R"("r": 2, )") + setting));
    EXPECT_THROW(PeftAdapter::open(scratch.path().string()), DataError) << setting;
  }
}

/// The DataError of opening a folder with these tensors.
std::string refusal_of(const NamedTensors& tensors, const std::string& settings = R"("r": 2)") {
  const test::ScratchFolder scratch;
  save_tensors(scratch / kAdapterFile, tensors);
  write_file(scratch / kAdapterConfigFile, config_text(settings));
  try {
    PeftAdapter::open(scratch.path().string());
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(PeftAdapter, SaysThatItsFolderIsGone) {
  const test::ScratchFolder scratch;
  try {
    PeftAdapter::open(scratch / "nowhere");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_CONTAINS(std::string(error.what()), "nowhere does not exist");
  }
}

TEST(PeftAdapter, RefusesTensorsThatAreNoPairsOfItsRank) {
  const std::string a = PeftAdapter::a_name(kLayer), b = PeftAdapter::b_name(kLayer);
  EXPECT_EQ(refusal_of({{a, at::ones({2, 5})}, {b, at::ones({3, 2})}}), "nothing was thrown");
  EXPECT_CONTAINS(refusal_of({{a, at::ones({2, 5})}}), "it has no lora_B");
  EXPECT_CONTAINS(refusal_of({{b, at::ones({3, 2})}}), "it has no lora_A");
  EXPECT_CONTAINS(refusal_of({{a, at::ones({4, 5})}, {b, at::ones({3, 4})}}), "are not of rank 2");
  EXPECT_CONTAINS(refusal_of({{a, at::ones({2})}, {b, at::ones({3, 2})}}), "are not of rank 2");
  EXPECT_CONTAINS(refusal_of({{a, at::ones({2, 5}, at::kInt)}, {b, at::ones({3, 2}, at::kInt)}}), "floating-point");
  EXPECT_CONTAINS(refusal_of({{"base_model.model.lm_head.base_layer.weight", at::ones({2})}}), "adapts lm_head");
  EXPECT_CONTAINS(refusal_of({{"x.lora_A.weight", at::ones({2})}}), "it is neither lora_A nor lora_B");
  EXPECT_CONTAINS(refusal_of({}), "holds no adapter");
}

TEST(PeftAdapter, TakesRanksOfItsPatternsAndModulesToSaveAlone) {
  const std::string a = PeftAdapter::a_name(kLayer), b = PeftAdapter::b_name(kLayer);
  const auto pair = [&](int rank) { return NamedTensors{{a, at::ones({rank, 5})}, {b, at::ones({3, rank})}}; };
  const std::string patterns = R"("r": 2, "rank_pattern": {"q_proj": 4})";
  EXPECT_EQ(refusal_of(pair(4), patterns), "nothing was thrown");
  EXPECT_CONTAINS(refusal_of(pair(3), patterns), "are not of rank 2 or one of rank_pattern");
  EXPECT_CONTAINS(refusal_of({{a, at::ones({2, 5})}, {b, at::ones({3, 4})}}, patterns), "are not of rank");
  NamedTensors tensors = pair(2);
  tensors.push_back({PeftAdapter::saved_name("lm_head.weight"), at::ones({7, 5})});
  EXPECT_CONTAINS(refusal_of(tensors), "adapts lm_head");
  EXPECT_EQ(refusal_of(tensors, R"("r": 2, "modules_to_save": ["lm_head"])"), "nothing was thrown");
  tensors.back().tensor = at::ones({7, 5}, at::kInt);
  EXPECT_CONTAINS(refusal_of(tensors, R"("r": 2, "modules_to_save": ["lm_head"])"), "floating-point");
}

TEST(PeftAdapter, NamesTheFileThatIsMissing) {
  const test::ScratchFolder scratch;
  const auto message = [&] {
    try {
      PeftAdapter::open(scratch.path().string());
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };

  EXPECT_CONTAINS(message(), "it has no adapter_config.json");
  write_file(scratch / kAdapterConfigFile, config_text(""));
  EXPECT_CONTAINS(message(), "it has no adapter_model.safetensors");
  write_file(scratch / "adapter_model.bin", "x");
  EXPECT_CONTAINS(message(), "Convert it to safetensors");
}

}  // namespace
}  // namespace multicard
