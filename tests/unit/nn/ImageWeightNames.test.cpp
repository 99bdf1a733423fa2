// The tables of tensor names are those of the networks.
#include "nn/vision/ImageWeightNames.hpp"

#include <algorithm>
#include <set>

#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <fnmatch.h>
#include <gtest/gtest.h>

#include "nn/vision/NetworkFactory.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

const ForeignFormat& table_of(const std::vector<ForeignFormat>& tables, const std::string& network) {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const ForeignFormat& table) { return network.starts_with(table.name); });
  return *found;
}

TEST(ImageWeightNames, CoverEveryTensorAndNothingElse) {
  const std::vector<ForeignFormat> tables = image_weight_formats();
  for (const std::string& name : network_names()) {
    const auto network = make_network(name, {});
    const std::span<const ForeignKey> keys = table_of(tables, name).keys.front();
    std::set<std::string> matched;
    for (const NamedTensor& entry : network->state()) {
      const auto key = std::find_if(keys.begin(), keys.end(), [&](const ForeignKey& one) {
        return fnmatch(one.name, entry.name.c_str(), 0) == 0;
      });
      ASSERT_NE(key, keys.end()) << name << ": " << entry.name;
      matched.insert(key->name);
    }
    EXPECT_EQ(matched.size(), keys.size()) << name;
  }
}

// AveragedModel of torch wraps a model and counts.
TEST(ImageWeightNames, AllowExtraTensors) {
  const test::ScratchFolder scratch;
  const NetworkOptions options{.width = 0.25, .classes = 3};
  const auto network = make_network("mobilenet_v2", options);
  NamedTensors tensors{{"n_averaged", at::full({}, 7)}};
  for (const NamedTensor& entry : network->state())
    tensors.push_back({"module." + entry.name, at::full_like(entry.tensor, 2)});
  save_tensors(scratch / "averaged.safetensors", tensors);

  const auto loaded = make_network("mobilenet_v2", options, scratch / "averaged.safetensors");

  EXPECT_EQ(loaded->state().front().tensor.flatten()[0].item<float>(), 2);
}

}  // namespace
}  // namespace multicard
