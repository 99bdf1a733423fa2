// Models in 4 bits as other programs keep them, against one that transformers and bitsandbytes have saved.

#include "nn/language/PackedTensors.hpp"

#include <set>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "nn/language/LanguageNetwork.hpp"
#include "state/ModelFolder.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

const std::string kModel = test::source_path("tests/data/models/tinystories-656K").string();
const std::string kNf4Model = kModel + "-nf4";

PackedTensors packed_model(std::unique_ptr<WeightPacker> packer, const LlamaConfig& config, const ModelFolder& files) {
  return {config, std::move(packer), at::kFloat, files.model_tensors(output_layer_of(config)),
          [&files, output = output_layer_of(config)](const std::string& name, at::ScalarType dtype) {
            return files.view(*files.stored_name(name, output)).to(dtype);
          }};
}

nlohmann::json json_of(const at::Tensor& bytes) {
  const auto* first = reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>());
  return nlohmann::json::parse(first, first + bytes.numel());
}

TEST(PackedTensors, Nf4IsWhatBitsandbytesSaves) {
  const LlamaConfig config = LlamaConfig::read(kModel);
  const ModelFolder files = ModelFolder::open(kModel), theirs = ModelFolder::open(kNf4Model);
  PackedTensors ours = packed_model(make_nf4_packer(DoubleQuantisation::on, at::kFloat), config, files);
  std::set<std::string> expected, found;
  for (const TensorHeader& header : theirs.tensors())
    expected.insert(header.name);

  for (const TensorHeader& header : ours.headers()) {
    SCOPED_TRACE(header.name);
    found.insert(header.name);
    const at::Tensor tensor = ours.tensor(header.name);
    EXPECT_EQ(tensor.sizes().vec(), header.shape);
    if (!expected.contains(header.name)) continue;
    const at::Tensor given = theirs.view(header.name);
    EXPECT_EQ(tensor.scalar_type(), given.scalar_type());
    if (header.name.ends_with("__nf4")) {
      nlohmann::json state = json_of(tensor), wanted = json_of(given);
      EXPECT_NEAR(state["nested_offset"].get<double>(), wanted["nested_offset"].get<double>(), 1e-6);
      state.erase("nested_offset");
      wanted.erase("nested_offset");
      EXPECT_EQ(state, wanted);
    } else if (header.name.ends_with(".absmax")) {  // nested_offset is a mean, whose rounding may move a code
      const at::Tensor apart = tensor.to(at::kInt).sub(given.to(at::kInt)).abs();
      EXPECT_LE(apart.max().item<int>(), 1);
      EXPECT_LE(apart.sum().item<std::int64_t>(), 2);
    } else if (header.name.ends_with(".nested_absmax")) {
      EXPECT_TRUE(at::allclose(tensor, given, 1e-5, 1e-6));
    } else {
      EXPECT_TRUE(at::equal(tensor, given));
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(PackedTensors, Nf4WithoutDoubleQuantisationHasPlainScales) {
  const LlamaConfig config = LlamaConfig::read(kModel);
  const ModelFolder files = ModelFolder::open(kModel);
  PackedTensors ours = packed_model(make_nf4_packer(DoubleQuantisation::off, at::kBFloat16), config, files);
  const std::string weight = "model.layers.0.self_attn.q_proj.weight";
  std::set<std::string> names;
  for (const TensorHeader& header : ours.headers())
    if (header.name.starts_with(weight)) names.insert(header.name.substr(weight.size()));

  EXPECT_EQ(names, (std::set<std::string>{"", ".absmax", ".quant_map", ".quant_state.bitsandbytes__nf4"}));
  EXPECT_EQ(ours.tensor(weight + ".absmax").scalar_type(), at::kFloat);
  EXPECT_EQ(
      json_of(ours.tensor(weight + ".quant_state.bitsandbytes__nf4")),
      nlohmann::json::parse(R"({"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [128, 128]})"));
  const nlohmann::json quantisation = nlohmann::json::parse(ours.quantisation_json());
  EXPECT_EQ(quantisation["bnb_4bit_use_double_quant"], false);
  EXPECT_EQ(quantisation["bnb_4bit_compute_dtype"], "bfloat16");
}

}  // namespace
}  // namespace multicard
