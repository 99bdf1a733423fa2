#include "state/ShardedWriter.hpp"

#include <filesystem>

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "state/ModelFolder.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kTinyStories = test::source_path("tests/data/models/tinystories-656K");

class ShardedWriter : public testing::Test {
 protected:
  std::string folder() const { return scratch_.path().string(); }
  json read_json(const std::string& name) const { return json::parse(read_file(scratch_ / name)); }

  test::ScratchFolder scratch_;
};

/// Tensors whose values are their place in the list.
const std::vector<TensorHeader> kHeaders{
    {"z", "F32", {4}}, {"a", "BF16", {2, 2}}, {"m", "F32", {8}}, {"b", "F16", {0, 3}}};

at::Tensor value_of(const std::string& name) {
  for (std::size_t i = 0; i < kHeaders.size(); ++i)
    if (kHeaders[i].name == name)
      return at::full(kHeaders[i].shape, static_cast<double>(i), *scalar_type_of(kHeaders[i].dtype));
  throw std::logic_error(name);
}

TEST_F(ShardedWriter, PutsAModelThatFitsIntoOneFile) {
  write_weights(folder(), kHeaders, value_of);

  EXPECT_FALSE(fs::exists(scratch_ / "model.safetensors.index.json"));
  const TensorFile file(scratch_ / "model.safetensors");
  for (const TensorHeader& header : kHeaders)
    EXPECT_TRUE(at::equal(file.view(header.name), value_of(header.name))) << header.name;
}

TEST_F(ShardedWriter, FillsShardsInTheGivenOrder) {
  write_weights(folder(), kHeaders, value_of, 24);  // 16 + 8 bytes; 32 bytes, more than a shard; none

  const json index = read_json("model.safetensors.index.json");
  EXPECT_EQ(index.at("metadata").at("total_size"), 56);
  const std::string first = "model-00001-of-00003.safetensors", last = "model-00003-of-00003.safetensors";
  EXPECT_EQ(index.at("weight_map"),
            json({{"z", first}, {"a", first}, {"m", "model-00002-of-00003.safetensors"}, {"b", last}}));
  const ModelFolder model = ModelFolder::open(folder());
  for (const TensorHeader& header : kHeaders)
    EXPECT_TRUE(at::equal(model.view(header.name), value_of(header.name))) << header.name;
}

TEST_F(ShardedWriter, RefusesATensorThatWasAnnouncedOtherwise) {
  const auto other_shape = [](const std::string&) { return at::ones({3}); };
  const auto other_dtype = [](const std::string& name) { return value_of(name).to(at::kDouble); };

  EXPECT_THROW(write_weights(folder(), kHeaders, other_shape), std::logic_error);
  EXPECT_THROW(write_weights(folder(), kHeaders, other_dtype), std::logic_error);
  EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(ShardedWriter, RewritesAModelBitByBit) {
  const ModelFolder model = ModelFolder::open(kTinyStories.string());

  write_weights(
      folder(), model.tensors(), [&](const std::string& name) { return model.view(name); }, 1'000'000);

  const ModelFolder copy = ModelFolder::open(folder());
  EXPECT_EQ(copy.file_names().size(), 3U);
  for (const TensorHeader& header : model.tensors())
    EXPECT_TRUE(at::equal(copy.view(header.name), model.view(header.name))) << header.name;
}

TEST_F(ShardedWriter, CopiesConfigurationAndTokenizer) {
  copy_model_files(kTinyStories.string(), folder(), {at::kBFloat16});

  json expected = json::parse(read_file((kTinyStories / "config.json").string()));
  expected["torch_dtype"] = "bfloat16";
  EXPECT_EQ(read_json("config.json"), expected);
  for (const char* name :
       {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json"})
    EXPECT_EQ(read_file(scratch_ / name), read_file((kTinyStories / name).string())) << name;
  EXPECT_FALSE(fs::exists(scratch_ / "model.safetensors"));
}

TEST_F(ShardedWriter, SaysTheDtypeUnderTheKeyThatTheModelHas) {
  const test::ScratchFolder source;
  write_file(source / "config.json", R"({"dtype": "float16", "x": 1})");
  copy_model_files(source.path().string(), folder(), {at::kFloat});
  EXPECT_EQ(read_json("config.json"), json({{"dtype", "float32"}, {"x", 1}}));

  write_file(source / "config.json", R"({"x": 1})");
  copy_model_files(source.path().string(), folder(), {at::kHalf});
  EXPECT_EQ(read_json("config.json"), json({{"torch_dtype", "float16"}, {"x", 1}}));
}

TEST_F(ShardedWriter, RefusesAConfigurationThatIsNone) {
  const test::ScratchFolder source;
  EXPECT_THROW(copy_model_files(source.path().string(), folder(), {at::kFloat}), DataError);
  for (const char* text : {"", "[]", "7", "{"}) {
    write_file(source / "config.json", text);
    EXPECT_THROW(copy_model_files(source.path().string(), folder(), {at::kFloat}), DataError) << text;
  }
}

}  // namespace
}  // namespace multicard
