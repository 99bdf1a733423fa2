#include <filesystem>
#include <fstream>

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "state/ModelFolder.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

/// A folder with two shards, {a, b} and {c}, and their index.
class DamagedModel : public testing::Test {
 protected:
  void SetUp() override {
    save_tensors(scratch_ / "one.safetensors", {{"a", at::ones({2, 3})}, {"b", at::ones({4})}});
    save_tensors(scratch_ / "two.safetensors", {{"c", at::ones({5})}});
    write_index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"})");
  }

  void write_index(const std::string& map) {
    write_file(index_, R"({"metadata": {"total_size": 60}, "weight_map": )" + map + "}");
  }

  NamedTensors targets() const { return {{"a", at::zeros({2, 3})}, {"b", at::zeros({4})}, {"c", at::zeros({5})}}; }

  /// The DataError of opening and loading.
  std::string refusal(const NamedTensors& wanted, OutputLayer output = OutputLayer::own) const {
    try {
      ModelFolder::open(scratch_.path().string()).load_into(wanted, output);
    } catch (const DataError& error) {
      for (const NamedTensor& target : wanted)
        EXPECT_EQ(target.tensor.sum().item<double>(), 0.0) << "something was loaded before the error";
      return error.what();
    }
    return "nothing was thrown";
  }
  std::string refusal() const { return refusal(targets()); }

  test::ScratchFolder scratch_;
  std::string index_ = scratch_ / "model.safetensors.index.json";
};

#define EXPECT_CONTAINS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST_F(DamagedModel, IsNotTheStartingPoint) {
  const NamedTensors loaded = targets();

  ModelFolder::open(scratch_.path().string()).load_into(loaded, OutputLayer::own);

  EXPECT_EQ(loaded[0].tensor.sum().item<double>() + loaded[2].tensor.sum().item<double>(), 11.0);
}

TEST_F(DamagedModel, LacksOrHasOtherTensorsThanTheModel) {
  NamedTensors more = targets();
  more.push_back({"d.weight", at::zeros({1})});
  EXPECT_CONTAINS(refusal(more), "lacks tensors of the model (d.weight)");
  more = targets();
  more.pop_back();
  EXPECT_CONTAINS(refusal(more), "holds tensors that the model does not have (c)");
  more = targets();
  more[0].tensor = at::zeros({3, 2});
  EXPECT_CONTAINS(refusal(more), "its shape is [2, 3], the model's is [3, 2]");
  save_tensors(scratch_ / "two.safetensors", {{"c", at::ones({5}, at::kLong)}});
  EXPECT_CONTAINS(refusal(), "its dtype is I64");
}

TEST_F(DamagedModel, KeepsAnOutputLayerThatIsNotTied) {
  save_tensors(scratch_ / "two.safetensors", {{"c", at::ones({5})}, {"lm_head.weight", at::ones({2})}});
  write_index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors",
                  "lm_head.weight": "two.safetensors"})");

  EXPECT_CONTAINS(refusal(), "does not have (lm_head.weight)");
  EXPECT_NO_THROW(ModelFolder::open(scratch_.path().string()).load_into(targets(), OutputLayer::tied));
}

TEST_F(DamagedModel, HasAnIndexThatDoesNotFitItsFiles) {
  write_index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors",
                  "lm_head.weight": "two.safetensors"})");
  EXPECT_CONTAINS(refusal(), "lm_head.weight is not in two.safetensors");
  write_index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "three.safetensors"})");
  EXPECT_CONTAINS(refusal(), "names three.safetensors, which is not in the folder");
  write_index(R"({"a": "one.safetensors", "c": "two.safetensors"})");
  EXPECT_CONTAINS(refusal(), "one.safetensors holds b, but the index does not name it");
  write_index(R"({"a": "two.safetensors", "b": "one.safetensors", "c": "two.safetensors"})");
  EXPECT_CONTAINS(refusal(), "one.safetensors holds a, but the index says two.safetensors");
  write_index(R"({"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors", "d": "two.safetensors"})");
  EXPECT_CONTAINS(refusal(), "d is not in two.safetensors");
}

TEST_F(DamagedModel, HoldsATensorTwice) {
  save_tensors(scratch_ / "two.safetensors", {{"c", at::ones({5})}, {"a", at::zeros({2, 3})}});

  EXPECT_CONTAINS(refusal(), "holds the tensor a twice (in one.safetensors and in two.safetensors)");
}

TEST_F(DamagedModel, NamesFilesOutsideItsFolder) {
  for (const char* name : {"../two.safetensors", "/etc/passwd", "sub/two.safetensors", "..", "", "two.bin",
                           "two.safetensors\\u0000.safetensors"}) {
    write_index(std::string(R"({"a": "one.safetensors", "b": "one.safetensors", "c": ")") + name + "\"}");
    EXPECT_CONTAINS(refusal(), "it names the file");
  }
}

TEST_F(DamagedModel, HasAnIndexThatIsNone) {
  for (const char* text :
       {"", "{", "[]", "7", "{}", R"({"weight_map": []})", R"({"weight_map": {}})", R"({"weight_map": {"a": 7}})",
        R"({"weight_map": {"a": ["one.safetensors"]}})", "{\"weight_map\": {\"\xff\": \"one.safetensors\"}}"}) {
    write_file(index_, text);
    EXPECT_CONTAINS(refusal(), "is not the index of a model's weights");
  }
  write_file(index_, std::string(1'000'000, '['));
  EXPECT_CONTAINS(refusal(), "is not the index of a model's weights");
}

TEST_F(DamagedModel, HasATruncatedFile) {
  const std::string path = scratch_ / "two.safetensors";
  const auto size = std::filesystem::file_size(path);
  for (const std::uintmax_t kept : {size - 1, size - 20, std::uintmax_t{9}, std::uintmax_t{0}}) {
    std::filesystem::resize_file(path, kept);
    EXPECT_CONTAINS(refusal(), "two.safetensors is not a valid safetensors file");
  }
}

TEST_F(DamagedModel, IsNoFolderOrHasOnlyPickledWeights) {
  std::filesystem::remove(index_);
  EXPECT_CONTAINS(refusal(), "holds no model.safetensors");
  write_file(scratch_ / "pytorch_model.bin", "x");
  EXPECT_CONTAINS(refusal(), "pytorch_model.bin");
  EXPECT_THROW(ModelFolder::open(scratch_ / "none"), DataError);
  EXPECT_THROW(ModelFolder::open(scratch_ / "one.safetensors"), DataError);
}

}  // namespace
}  // namespace multicard
