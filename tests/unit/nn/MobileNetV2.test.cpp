#include "nn/vision/MobileNetV2.hpp"

#include <set>

#include <ATen/autocast_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "oracle_run.hpp"

namespace multicard {
namespace {

using test::oracle;

NetworkOptions tiny() {
  return {.width = 0.25, .classes = 10, .dropout = 0.5};
}

TEST(MobileNetV2, HasTorchvisionsNumbersOfParametersAndBuffers) {
  for (const double width : {1.0, 0.25})
    for (const int classes : {1000, 10}) {
      const auto network = make_network("mobilenet_v2", {.width = width, .classes = classes});
      const auto& counts = oracle()["counts"]["width_" + std::string(width == 1.0 ? "1.0" : "0.25") + "_classes_" +
                                              std::to_string(classes)];
      std::int64_t buffer_values = 0;
      for (const NamedTensor& buffer : network->buffers())
        buffer_values += buffer.tensor.numel();

      EXPECT_EQ(network->num_parameters(), counts["parameters"].get<std::int64_t>());
      EXPECT_EQ(buffer_values, counts["buffer_values"].get<std::int64_t>());
      EXPECT_EQ(network->parameters().size(), counts["parameter_tensors"].get<std::size_t>());
      EXPECT_EQ(network->state().size(), counts["state_dict_entries"].get<std::size_t>());
    }
}

TEST(MobileNetV2, HasTorchvisionsNames) {
  const TensorFile file(test::oracle_path("init.safetensors"));
  std::set<std::string> expected, found;
  for (const auto& entry : file.file().entries())
    expected.insert(entry.name);

  const auto network = make_network("mobilenet_v2", tiny());

  for (const NamedTensor& entry : network->state())
    found.insert(entry.name);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(network->state()[1].name, "features.0.1.weight");
  EXPECT_EQ(network->state()[5].name, "features.0.1.num_batches_tracked");
}

TEST(MobileNetV2, StartsFromTheSeedAlone) {
  const auto one = make_network("mobilenet_v2", tiny()), same = make_network("mobilenet_v2", tiny());
  NetworkOptions options = tiny();
  options.seed = 2;
  const auto other = make_network("mobilenet_v2", options);

  EXPECT_TRUE(at::equal(one->parameters()[0].tensor, same->parameters()[0].tensor));
  EXPECT_FALSE(at::equal(one->parameters()[0].tensor, other->parameters()[0].tensor));
  EXPECT_NEAR(one->parameters()[156].tensor.std().item<double>(), 0.01, 3e-4);
  EXPECT_NEAR(one->parameters()[153].tensor.std().item<double>(), std::sqrt(2.0 / 1280), 1e-3);
}

TEST(MobileNetV2, DropsByTheSeed) {
  const auto network = make_network("mobilenet_v2", tiny());
  const at::Tensor images = at::randn({4, 3, 32, 32});
  const auto logits = [&](std::uint64_t seed) {
    network->set_dropout_seed(seed);
    return network->forward(images);
  };

  const at::Tensor first = logits(1), second = logits(2), again = logits(1);

  EXPECT_TRUE(at::equal(first, again));
  EXPECT_FALSE(at::equal(first, second));
}

TEST(MobileNetV2, ConvertsInPlace) {
  const auto network = make_network("mobilenet_v2", tiny());
  const at::Tensor before = network->parameters()[0].tensor;

  network->to(at::kCPU, at::kDouble, at::MemoryFormat::ChannelsLast);

  EXPECT_EQ(before.scalar_type(), at::kDouble);
  EXPECT_TRUE(before.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(before.requires_grad());
  EXPECT_EQ(network->buffers()[2].tensor.scalar_type(), at::kLong);
}

TEST(MobileNetV2, TakesABatchOfNoRows) {
  const auto network = make_network("mobilenet_v2", tiny());

  const double loss = test::forward_backward(*network, {at::empty({0, 3, 32, 32}), at::empty({0}, at::kLong)}, 4);

  EXPECT_EQ(loss, 0.0);
  EXPECT_EQ(test::gradient_norm(*network), 0.0);
  EXPECT_EQ(test::l2(network->buffers()[0].tensor), 0.0);
  EXPECT_EQ(network->buffers()[2].tensor.item<std::int64_t>(), 0);
}

TEST(MobileNetV2, ComputesConvolutionsInBfloat16UnderAutocast) {
  test::Arithmetic arithmetic{at::kFloat, at::MemoryFormat::ChannelsLast};
  const auto network = test::oracle_network("init.safetensors", arithmetic);
  const test::Samples samples = test::oracle_batch(1, arithmetic);
  const double expected = test::oracle()["single_float64"]["loss"][1].get<double>();

  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor logits = network->forward(samples.images);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  at::autocast::clear_cache();
  const at::Tensor loss = cross_entropy(logits, samples.labels, 8);
  loss.backward();

  EXPECT_EQ(logits.scalar_type(), at::kBFloat16);
  EXPECT_NEAR(loss.item<double>(), expected, 0.3 * expected);
  for (const NamedTensor& parameter : network->parameters())
    EXPECT_EQ(parameter.tensor.grad().scalar_type(), at::kFloat) << parameter.name;
}

TEST(NetworkFactory, NamesTheNearestNetwork) {
  try {
    make_network("mobilenet_v3", {});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("mobilenet_v2"), std::string::npos);
  }
  EXPECT_THROW(make_network("mobilenet_v2", {.width = 0.0}), UsageError);
}

}  // namespace
}  // namespace multicard
