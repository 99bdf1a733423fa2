#include "state/ModelFolder.hpp"

#include <fstream>
#include <sstream>

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "base/System.hpp"
#include "io/Bytes.hpp"
#include "io/Sha256.hpp"
#include "state/ShardedWriter.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

const std::string kTinyStories = test::source_path("tests/data/models/tinystories-656K").string();

NamedTensors empty_like(const std::vector<TensorHeader>& headers, at::ScalarType dtype) {
  NamedTensors tensors;
  for (const TensorHeader& header : headers)
    tensors.push_back({header.name, at::full(header.shape, -1.0, dtype)});
  return tensors;
}

/// Writes the tensors as model.safetensors, or as shards when they exceed `shard_bytes`.
void write_model(const std::string& folder, const NamedTensors& tensors, std::uint64_t shard_bytes = kMaxShardBytes) {
  std::vector<TensorHeader> headers;
  for (const NamedTensor& entry : tensors)
    headers.push_back({entry.name, *safetensors_dtype(entry.tensor.scalar_type()), entry.tensor.sizes().vec()});
  const auto tensor_of = [&](const std::string& name) {
    for (const NamedTensor& entry : tensors)
      if (entry.name == name) return entry.tensor;
    return at::Tensor();
  };
  std::filesystem::create_directories(folder);
  write_weights(folder, headers, tensor_of, shard_bytes);
}

/// Bytes of the mapped files of `folder` that are in this process's memory.
std::int64_t mapped_resident_bytes(const std::string& folder) {
  std::ifstream maps("/proc/self/smaps");
  std::int64_t kilobytes = 0;
  bool is_inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ') && line.find(':') > line.find(' ')) is_inside = line.find(folder) != line.npos;
    std::istringstream words(line);
    std::string key;
    std::int64_t value = 0;
    if (is_inside && line.starts_with("Rss:") && words >> key >> value) kilobytes += value;
  }
  return kilobytes * 1024;
}

TEST(ModelFolder, FillsTiedEmbeddingsThatAreStoredAsTheOutputLayer) {
  const ModelFolder folder = ModelFolder::open(kTinyStories);
  const at::Tensor embeddings = at::zeros({2048, 128}), norm = at::zeros({128}, at::kBFloat16);
  NamedTensors targets = empty_like(folder.tensors(), at::kFloat);
  std::erase_if(targets, [](const NamedTensor& entry) { return entry.name == "lm_head.weight"; });
  const std::size_t others = targets.size();
  targets.push_back({"model.embed_tokens.weight", embeddings});

  folder.load_into(targets, OutputLayer::tied);

  EXPECT_EQ(others + 1, folder.tensors().size());
  EXPECT_EQ(folder.num_bytes(), 2'624'000U);
  EXPECT_TRUE(at::equal(embeddings, folder.view("lm_head.weight")));
  for (std::size_t i = 0; i < others; ++i)
    EXPECT_TRUE(at::equal(targets[i].tensor, folder.view(targets[i].name))) << targets[i].name;
}

TEST(ModelFolder, ResolvesTiedEmbeddingsWithoutAndWithMetadata) {
  const test::ScratchFolder scratch;
  if (test::world().is_root()) {
    write_model(scratch / "head", {{"lm_head.weight", at::ones({2, 2})}});
    write_model(scratch / "both",
                {{"lm_head.weight", at::zeros({2, 2})}, {"model.embed_tokens.weight", at::zeros({2, 2})}});
    write_model(scratch / "two",
                {{"lm_head.weight", at::ones({2, 2})}, {"model.embed_tokens.weight", at::zeros({2, 2})}});
    save_tensors(scratch / "model.safetensors", {{"lm_head.weight", at::ones({1})}, {"x", at::ones({1})}},
                 {{"model.embed_tokens.weight", "lm_head.weight"}, {"y", "x"}});
  }
  test::world().barrier();

  const ModelFolder head = ModelFolder::open(scratch / "head"), both = ModelFolder::open(scratch / "both"),
                    named = ModelFolder::open(scratch.path().string());

  EXPECT_EQ(head.stored_name("model.embed_tokens.weight", OutputLayer::tied), "lm_head.weight");
  EXPECT_EQ(head.stored_name("model.embed_tokens.weight", OutputLayer::own), std::nullopt);
  const at::Tensor embeddings = at::ones({2, 2});
  both.load_into({{"model.embed_tokens.weight", embeddings}}, OutputLayer::tied);
  EXPECT_TRUE(at::equal(embeddings, at::zeros({2, 2})));
  const ModelFolder two = ModelFolder::open(scratch / "two");
  EXPECT_THROW(two.load_into({{"model.embed_tokens.weight", embeddings}}, OutputLayer::tied), DataError);
  two.load_into({{"model.embed_tokens.weight", embeddings}, {"lm_head.weight", at::zeros({2, 2})}}, OutputLayer::own);
  EXPECT_EQ(named.stored_name("model.embed_tokens.weight", OutputLayer::own), "lm_head.weight");
  EXPECT_EQ(named.stored_name("y", OutputLayer::own), std::nullopt)
      << "no two tensors of these models are one but these";
}

TEST(ModelFolder, IsComparedWithAModelThatTakesNoMemory) {
  const test::ScratchFolder scratch;
  if (test::world().is_root()) write_model(scratch / "m", {{"a", at::ones({2, 2})}});
  test::world().barrier();
  const ModelFolder model = ModelFolder::open(scratch / "m");
  const auto meta = [](std::int64_t rows, std::int64_t columns) {
    return at::empty({rows, columns}, at::TensorOptions(at::kMeta));
  };

  model.check({{"a", meta(2, 2)}}, OutputLayer::own);
  EXPECT_THROW(model.check({{"a", meta(1 << 24, 1 << 20)}}, OutputLayer::own), DataError);
  EXPECT_THROW(model.check({{"a", meta(2, 2)}, {"b", meta(1, 1)}}, OutputLayer::own), DataError);
}

TEST(ModelFolder, ConvertsShardsIntoEveryDtype) {
  const test::ScratchFolder scratch;
  NamedTensors stored{{"a", at::arange(6, at::kFloat).view({2, 3})},
                      {"b", at::arange(5, at::kFloat).to(at::kBFloat16)},
                      {"c", at::arange(4, at::kFloat).to(at::kHalf)},
                      {"d", at::arange(3, at::kDouble)},
                      {"model.layers.0.self_attn.rotary_emb.inv_freq", at::ones({4})}};
  if (test::world().is_root()) write_model(scratch / "m", stored, 24);
  test::world().barrier();
  const ModelFolder folder = ModelFolder::open(scratch / "m");
  stored.pop_back();

  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    NamedTensors targets;
    for (const NamedTensor& entry : stored)
      targets.push_back({entry.name, at::full(entry.tensor.sizes(), -1.0, dtype)});
    targets[0].tensor = at::full({3, 2}, -1.0, dtype).t();  // not contiguous

    folder.load_into(targets, OutputLayer::own);

    for (std::size_t i = 0; i < stored.size(); ++i)
      EXPECT_TRUE(at::equal(targets[i].tensor, stored[i].tensor.to(dtype))) << stored[i].name << " " << dtype;
  }
  EXPECT_EQ(folder.file_names().size(), 4U);
}

TEST(ModelFolder, GivesPagesBackWhileItFillsTargets) {
  const test::ScratchFolder scratch;
  constexpr std::int64_t kValues = 20'000'000;  // more than one piece of 64 MB as float32
  if (test::world().is_root())
    write_model(scratch / "m", {{"large", at::arange(kValues, at::kFloat)}, {"small", at::ones({3})}});
  test::world().barrier();
  const ModelFolder folder = ModelFolder::open(scratch / "m");
  const NamedTensors targets{{"large", at::zeros({kValues}, at::kBFloat16)}, {"small", at::zeros({3})}};
  const auto resident = [&] { return mapped_resident_bytes(scratch.path().string()); };

  folder.load_into(targets, OutputLayer::own);

  EXPECT_LT(resident(), 1 << 20);
  EXPECT_TRUE(at::equal(targets[0].tensor, folder.view("large").to(at::kBFloat16)));
  EXPECT_GT(resident(), 4 * kValues - (1 << 20));
  folder.give_back("large");
  EXPECT_LT(resident(), 1 << 20);
}

TEST(ModelFolder, NeedsLittleMoreMemoryThanTheTargets) {
  const test::ScratchFolder scratch;
  constexpr std::int64_t kValues = 80'000'000;
  if (test::world().is_root()) write_model(scratch / "m", {{"x", at::ones({kValues}, at::kBFloat16)}});
  test::world().barrier();
  const ModelFolder folder = ModelFolder::open(scratch / "m");
  const NamedTensors targets{{"x", at::zeros({kValues}, at::kBFloat16)}};
  reset_peak_resident_bytes();
  const std::int64_t before = resident_bytes();
  if (peak_resident_bytes() > before + (1 << 20)) GTEST_SKIP() << "the kernel does not reset peaks";

  folder.load_into(targets, OutputLayer::own);

  EXPECT_LT(peak_resident_bytes() - before, std::int64_t{80} << 20);  // not the 160 MB of the file
}

TEST(ModelFolder, NamesItsWeightsByTheirHash) {
  const test::ScratchFolder scratch;
  const NamedTensors tensors{{"a", at::ones({4})}, {"b", at::zeros({4})}};
  if (test::world().is_root()) {
    write_model(scratch / "one", tensors);
    write_model(scratch / "two", tensors, 16);
  }
  test::world().barrier();

  const std::string first = sha256_of_file(scratch / "two/model-00001-of-00002.safetensors");
  const std::string second = sha256_of_file(scratch / "two/model-00002-of-00002.safetensors");
  EXPECT_EQ(ModelFolder::open(scratch / "one").sha256(), sha256_of_file(scratch / "one/model.safetensors"));
  EXPECT_EQ(ModelFolder::open(scratch / "two").sha256(),
            sha256(first + "  model-00001-of-00002.safetensors\n" + second + "  model-00002-of-00002.safetensors\n"));
}

}  // namespace
}  // namespace multicard
