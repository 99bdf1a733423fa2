#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formula.hpp"
#include "nn/losses/Losses.hpp"
#include "nn/vision/NetworkFactory.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using Numbers = std::vector<double>;

const nlohmann::json& oracle() {
  static const nlohmann::json results =
      nlohmann::json::parse(std::ifstream(test::source_path("tests/data/oracles/networks/oracle.json")));
  return results;
}

Numbers numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous().flatten();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

double l2(const at::Tensor& tensor) {
  return tensor.detach().to(at::kDouble).norm().item<double>();
}

void expect_near(const Numbers& found, const Numbers& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  const double largest = std::abs(*std::max_element(expected.begin(), expected.end(),
                                                    [](double a, double b) { return std::abs(a) < std::abs(b); }));
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance * (std::abs(expected[i]) + 1e-3 * largest)) << what << " " << i;
}

std::unique_ptr<Network> make_plain(const std::string& name) {
  return make_network(name, {.classes = test::kFormulaClasses,
                             .dropout = 0.0,
                             .stochastic_depth = name.starts_with("efficientnet") ? std::optional(0.0) : std::nullopt});
}

class NetworkDefinition : public testing::TestWithParam<std::string> {};

TEST_P(NetworkDefinition, IsTorchvisions) {
  const auto network = make_plain(GetParam());
  const auto& state = oracle()["networks"][GetParam()]["state"];
  const auto& initial = oracle()["networks"][GetParam()]["initial"];

  ASSERT_EQ(network->state().size(), state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_EQ(network->state()[i].name, state[i][0].get<std::string>());
    EXPECT_EQ(network->state()[i].tensor.sizes().vec(), state[i][1].get<std::vector<std::int64_t>>());
  }
  for (std::size_t i = 0; i < network->parameters().size(); ++i) {
    const auto& [name, tensor] = network->parameters()[i];
    const at::Tensor values = tensor.detach().to(at::kDouble);
    const Numbers reference = initial[i].get<Numbers>();  // mean, deviation, largest magnitude
    const double count = static_cast<double>(values.numel()), deviation = reference[1];
    // Five times the deviation of the difference of two samples of this size.
    EXPECT_NEAR(values.mean().item<double>(), reference[0], 5 * deviation * std::sqrt(2 / count) + 1e-12) << name;
    EXPECT_NEAR(values.std(/*unbiased=*/false).item<double>(), deviation, 5 * deviation / std::sqrt(count)) << name;
    // Distinguishes uniform values (1.73 deviations at most) from normal ones.
    if (count >= 1000) {
      EXPECT_EQ(values.abs().max().item<double>() < 1.8 * deviation, reference[2] < 1.8 * deviation) << name;
    }
  }
}

const auto kNetworks = testing::Values("mobilenet_v2", "resnet18", "resnet50", "efficientnet_b0");

INSTANTIATE_TEST_SUITE_P(Networks, NetworkDefinition, kNetworks, [](const auto& instance) { return instance.param; });

class NetworkOracle : public testing::TestWithParam<std::tuple<std::string, at::MemoryFormat>> {
 protected:
  at::MemoryFormat layout() const { return std::get<1>(GetParam()); }
  const nlohmann::json& expected() const { return oracle()["networks"][std::get<0>(GetParam())]; }
  // Checks logits, loss and the norms of gradients.
  void expect_pass(Network& network, const nlohmann::json& pass) const {
    const at::Tensor logits = network.forward(test::formula_images().contiguous(layout()));
    const at::Tensor loss = cross_entropy(logits, test::formula_labels(), test::kFormulaRows);
    loss.backward();
    Numbers norms, expected_logits;
    for (const NamedTensor& parameter : network.parameters())
      norms.push_back(l2(parameter.tensor.grad()));
    for (const auto& row : pass["logits"])
      for (const auto& value : row)
        expected_logits.push_back(value.get<double>());

    expect_near(numbers(logits), expected_logits, 1e-9, "logit");
    EXPECT_NEAR(loss.item<double>(), pass["loss"].get<double>(), 1e-9 * pass["loss"].get<double>());
    expect_near(norms, pass["gradient_l2"].get<Numbers>(), 1e-9, "gradient");
  }
};

TEST_P(NetworkOracle, EvaluatesAndTrainsAsTorchvision) {
  const auto network = make_plain(std::get<0>(GetParam()));
  network->to(at::kCPU, at::kDouble, layout());
  test::fill_by_formula(*network);

  network->set_training(Mode::evaluate);
  expect_pass(*network, expected()["evaluate"]);
  for (const NamedTensor& parameter : network->parameters())
    at::Tensor(parameter.tensor).mutable_grad().reset();
  network->set_training(Mode::train);
  expect_pass(*network, expected()["train"]);

  const auto& samples = expected()["train"]["gradient_samples"];
  for (std::size_t i = 0; i < network->parameters().size(); ++i) {
    const auto& [name, tensor] = network->parameters()[i];
    const at::Tensor gradient = tensor.grad().contiguous().flatten();
    const double tolerance = 1e-9 * (l2(gradient) + 1e-3);
    const Numbers values = samples[i].get<Numbers>();
    EXPECT_NEAR(gradient[0].item<double>(), values[0], tolerance) << name;
    EXPECT_NEAR(gradient[gradient.numel() / 2].item<double>(), values[1], tolerance) << name;
    EXPECT_NEAR(gradient[-1].item<double>(), values[2], tolerance) << name;
  }
  Numbers running;
  for (const NamedTensor& buffer : network->buffers())
    if (!buffer.name.ends_with("num_batches_tracked")) running.push_back(l2(buffer.tensor));
  expect_near(running, expected()["train"]["running_l2"].get<Numbers>(), 1e-9, "running statistic");
}

INSTANTIATE_TEST_SUITE_P(Networks, NetworkOracle,
                         testing::Combine(kNetworks, testing::Values(at::MemoryFormat::Contiguous,
                                                                     at::MemoryFormat::ChannelsLast)),
                         [](const auto& instance) {
                           const bool is_nchw = std::get<1>(instance.param) == at::MemoryFormat::Contiguous;
                           return std::get<0>(instance.param) + (is_nchw ? "_nchw" : "_nhwc");
                         });

TEST(NumParameters, AreTorchvisionsWith1000Classes) {
  for (const std::string& name : network_names())
    EXPECT_EQ(make_network(name, {})->num_parameters(), oracle()["counts"][name].get<std::int64_t>()) << name;
  for (const auto& [width, count] : oracle()["mobilenet_v2_counts"].items())
    EXPECT_EQ(make_network("mobilenet_v2", {.width = std::stod(width)})->num_parameters(), count.get<std::int64_t>())
        << width;
}

}  // namespace
}  // namespace multicard
