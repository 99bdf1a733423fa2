// Networks of folders that store their weights in more than one way.

#include <filesystem>
#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernels/Nf4.hpp"
#include "nn/language/LanguageFactory.hpp"
#include "nn/language/Llama.hpp"
#include "state/ModelFolder.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;

const std::string kModel = test::source_path("tests/data/models/tinystories-656K").string();
const std::string kNf4Model = kModel + "-nf4";
const std::string kMlp = "model.layers.1.mlp.", kKeys = "model.layers.0.self_attn.k_proj";

bool is_whole(const std::string& tensor) {
  return tensor.starts_with(kMlp) || tensor.starts_with(kKeys);
}

/// The model in NF4 but for an MLP and one of three layers that read the same input, which are stored as they were.
void write_mixed(const std::string& folder) {
  fs::create_directories(folder);
  NamedTensors tensors;
  const ModelFolder packed = ModelFolder::open(kNf4Model), plain = ModelFolder::open(kModel);
  for (const TensorHeader& header : packed.tensors()) {
    if (is_whole(header.name) && !header.name.ends_with(".weight")) continue;
    tensors.push_back({header.name, (is_whole(header.name) ? plain : packed).view(header.name)});
  }
  save_tensors(folder + "/model.safetensors", tensors);
  auto config = nlohmann::json::parse(std::ifstream(kNf4Model + "/config.json"));
  config["quantization_config"]["llm_int8_skip_modules"] = {"lm_head", "model.layers.1.mlp", "0.self_attn.k_proj"};
  std::ofstream(folder + "/config.json") << config;
}

/// The same with the values that NF4 stands for, none of them packed.
void write_values(const std::string& folder) {
  fs::create_directories(folder);
  NamedTensors tensors;
  for (const TensorHeader& header : ModelFolder::open(kModel).tensors()) {
    const at::Tensor weight = ModelFolder::open(kModel).view(header.name).to(at::kFloat);
    const bool is_packed = header.name.find("_proj.") != std::string::npos && !is_whole(header.name);
    tensors.push_back(
        {header.name, is_packed ? dequantise_nf4(quantise_nf4(weight, DoubleQuantisation::on), at::kFloat) : weight});
  }
  save_tensors(folder + "/model.safetensors", tensors);
  fs::copy_file(kModel + "/config.json", folder + "/config.json");
}

at::Tensor logits(const std::string& folder) {
  return load_network(folder, at::kFloat, at::kCPU)->logits(at::arange(1, 33, at::kLong).view({1, 32}));
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

TEST(NetworkFactory, LayersThatAFolderInNf4KeepsWholeStayWhole) {
  const test::ScratchFolder scratch;
  write_mixed(scratch / "mixed");
  write_values(scratch / "values");

  const at::Tensor found = logits(scratch / "mixed");

  EXPECT_LT(distance(found, logits(scratch / "values")), 1e-3);
  EXPECT_GT(distance(found, logits(kNf4Model)), 1e-2) << "they would differ little if those layers were packed";
}

TEST(NetworkFactory, BytesOfWholeLayersAreKnownBeforeTheyAreRead) {
  const test::ScratchFolder scratch;
  write_mixed(scratch / "mixed");
  const WeightFormat nf4{WeightFormat::Kind::nf4};
  const auto packed = [](std::int64_t rows, std::int64_t columns) {
    return empty_nf4(rows, columns, DoubleQuantisation::on, at::kMeta).bytes();
  };
  const std::int64_t mlp = 3 * (128 * 384 * 4 - packed(128, 384)), keys = 64 * 128 * 4 - packed(64, 128);

  const std::int64_t more = bytes_beyond_equal_blocks(scratch / "mixed", at::kFloat, nf4);

  EXPECT_EQ(more, mlp + keys);
  EXPECT_EQ(load_network(scratch / "mixed", at::kFloat, at::kCPU)->weight_bytes(),
            load_network(plan_of_layers(scratch / "mixed", at::kFloat, 2, nf4), at::kCPU)->weight_bytes() + more);
  EXPECT_EQ(bytes_beyond_equal_blocks(kNf4Model, at::kFloat, nf4), 0);
}

TEST(NetworkFactory, WithoutWeightsTheConfigurationSaysWhichLayersAreWhole) {
  const test::ScratchFolder scratch;
  write_mixed(scratch / "mixed");
  const std::set<std::string> wanted = network_config_of(scratch / "mixed", WeightsOf::files).whole_layers;
  fs::remove(scratch / "mixed/model.safetensors");

  EXPECT_EQ(wanted.size(), 4);
  EXPECT_EQ(network_config_of(scratch / "mixed", WeightsOf::chance).whole_layers, wanted);
}

}  // namespace
}  // namespace multicard
