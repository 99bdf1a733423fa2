#include "nn/vision/Network.hpp"

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "base/Error.hpp"
#include "formula.hpp"
#include "nn/losses/Losses.hpp"
#include "nn/vision/NetworkFactory.hpp"
#include "replicas.hpp"

namespace multicard {
namespace {

constexpr auto kNhwc = at::MemoryFormat::ChannelsLast, kNchw = at::MemoryFormat::Contiguous;

// Without dropout, narrow where it can be, with the values of the formula.
std::unique_ptr<Network> make_filled(const std::string& name, at::MemoryFormat layout = kNhwc,
                                     at::ScalarType dtype = at::kDouble) {
  NetworkOptions options{.classes = test::kFormulaClasses, .dropout = 0.0};
  if (name == "mobilenet_v2") options.width = 0.25;
  if (name == "efficientnet_b0") options.stochastic_depth = 0.0;
  auto network = make_network(name, options);
  network->to(at::kCPU, dtype, layout);
  test::fill_by_formula(*network);
  return network;
}

void forward_backward(Network& network, const at::Tensor& images, const at::Tensor& labels,
                      std::int64_t global_rows = test::kFormulaRows) {
  cross_entropy(network.forward(images), labels, global_rows).backward();
}

std::map<std::string, at::Tensor> gradients_of(const Network& network) {
  std::map<std::string, at::Tensor> gradients;
  for (const NamedTensor& entry : network.state())
    if (entry.tensor.grad().defined()) gradients[entry.name] = entry.tensor.grad();
  return gradients;
}

double distance(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).norm() / (b.norm() + 1e-6)).item<double>();
}

std::size_t num_backward_operations(const at::Tensor& result) {
  std::set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> waiting;
  if (result.grad_fn()) waiting.push_back(result.grad_fn().get());
  while (!waiting.empty()) {
    torch::autograd::Node* node = waiting.back();
    waiting.pop_back();
    if (!seen.insert(node).second) continue;
    for (const auto& edge : node->next_edges())
      if (edge.function) waiting.push_back(edge.function.get());
  }
  return seen.size();
}

struct FreezeCase {
  std::string network, pattern;
  at::MemoryFormat layout = kNhwc;
  bool synchronises = false;
};

class Freezing : public testing::TestWithParam<FreezeCase> {};

TEST_P(Freezing, LeavesTheOtherGradientsAsTheyWere) {
  const FreezeCase& c = GetParam();
  const at::Tensor images = test::formula_images().contiguous(c.layout);
  const auto whole = make_filled(c.network, c.layout), part = make_filled(c.network, c.layout);
  test::ThreadReducer reducer(1);
  part->freeze({c.pattern});
  if (c.synchronises) part->set_statistics_reducer(&reducer);

  forward_backward(*whole, images, test::formula_labels());
  reducer.run([&](std::size_t) { forward_backward(*part, images, test::formula_labels()); });

  const auto expected = gradients_of(*whole), found = gradients_of(*part);
  EXPECT_LT(found.size(), expected.size());
  EXPECT_EQ(found.size(), part->parameters().size());
  EXPECT_EQ(part->state().size(), whole->state().size());
  for (const NamedTensor& parameter : part->parameters())
    EXPECT_LT(distance(found.at(parameter.name), expected.at(parameter.name)), 1e-9) << parameter.name;
  for (std::size_t i = 0; i < whole->buffers().size(); ++i)  // running statistics move as before
    EXPECT_LT(distance(part->buffers()[i].tensor.to(at::kDouble), whole->buffers()[i].tensor.to(at::kDouble)), 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Patterns, Freezing,
                         testing::Values(FreezeCase{"mobilenet_v2", "features.?.*"},         // the lower blocks
                                         FreezeCase{"mobilenet_v2", "*.conv.*.weight"},      // among trained biases
                                         FreezeCase{"mobilenet_v2", "*.bias", kNchw},        //
                                         FreezeCase{"mobilenet_v2", "*.bias", kNchw, true},  //
                                         FreezeCase{"mobilenet_v2", "features.[0-9].*", kNchw, true},
                                         FreezeCase{"resnet18", "layer[12].*"},  // among trained layers
                                         FreezeCase{"resnet18", "*bn?.*", kNhwc, true},
                                         FreezeCase{"efficientnet_b0", "*.fc?.*"},
                                         FreezeCase{"efficientnet_b0", "features.[0-6].*", kNchw}));

TEST(Freeze, TakesLayersBelowTheFirstTrainedOneOutOfBackward) {
  const at::Tensor images = test::formula_images().contiguous(kNhwc);
  for (const std::string name : {"mobilenet_v2", "resnet18", "efficientnet_b0"}) {
    const auto network = make_filled(name);
    const std::vector<std::string> classifier = network->classifier_names();
    const std::size_t before = num_backward_operations(network->forward(images));
    const std::int64_t head = network->state().back().tensor.numel() + (network->state().end() - 2)->tensor.numel();

    network->freeze({name == "resnet18" ? "[!f]*" : "features.*"});

    EXPECT_GT(before, 100U) << name;
    EXPECT_LT(num_backward_operations(network->forward(images)), 10U) << name;
    EXPECT_EQ(network->num_parameters(), head);
    EXPECT_EQ(network->parameters()[0].name, classifier[0]);
    EXPECT_EQ(network->parameters()[1].name, classifier[1]);
  }
}

TEST(Freeze, KeepsNothingOfGradientsAndSurvivesConversion) {
  const auto network = make_filled("resnet18");
  forward_backward(*network, test::formula_images(), test::formula_labels());

  network->freeze({"layer1.*", "bn1.*"});
  network->to(at::kCPU, at::kFloat, kNchw);

  for (const NamedTensor& entry : network->state()) {
    const bool is_frozen = entry.name.starts_with("layer1.") || entry.name.starts_with("bn1.");
    const bool is_parameter = entry.name.ends_with("weight") || entry.name.ends_with("bias");
    EXPECT_EQ(entry.tensor.requires_grad(), is_parameter && !is_frozen) << entry.name;
    EXPECT_FALSE(entry.tensor.grad().defined()) << entry.name;
  }
}

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(Freeze, RefusesPatternsWithoutParameterAndNamesWhatIsNear) {
  const auto network = make_network("resnet18", {.classes = 10});
  const std::size_t before = network->parameters().size();

  EXPECT_NE(message_of([&] {
              network->freeze({"layer2.*", "layer1"});
            }).find("Did you mean layer1.*?"),
            std::string::npos);
  EXPECT_NE(message_of([&] { network->freeze({"layer3.1.conv2.wieght"}); }).find("layer3.1.conv2.weight"),
            std::string::npos);
  EXPECT_NE(message_of([&] { network->freeze({"bn1.running_mean"}); }).find("matches no trained parameter"),
            std::string::npos);
  EXPECT_NE(message_of([&] { network->freeze({"*"}); }).find("nothing to train"), std::string::npos);

  EXPECT_EQ(network->parameters().size(), before);
  EXPECT_TRUE(network->parameters().front().tensor.requires_grad());
  network->freeze({});
  EXPECT_EQ(network->parameters().size(), before);
}

TEST(ClassifierNames, AreThoseWhoseShapesFollowTheClasses) {
  for (const char* name : {"mobilenet_v2", "resnet18", "efficientnet_b0"}) {
    const auto ten = make_network(name, {.classes = 10}), eleven = make_network(name, {.classes = 11});
    std::vector<std::string> differing;
    for (std::size_t i = 0; i < ten->state().size(); ++i)
      if (ten->state()[i].tensor.sizes() != eleven->state()[i].tensor.sizes())
        differing.push_back(ten->state()[i].name);

    EXPECT_EQ(ten->classifier_names(), differing) << name;
  }
}

class AnyNetwork : public testing::TestWithParam<std::string> {};

TEST_P(AnyNetwork, SynchronisedOverReplicasIsTheWholeBatch) {
  const at::Tensor images = test::formula_images().contiguous(kNhwc), labels = test::formula_labels();
  const auto whole = make_filled(GetParam());
  forward_backward(*whole, images, labels);

  test::ThreadReducer reducer(3);
  const std::vector<std::int64_t> first{0, 3, 3}, count{3, 0, 1};
  std::vector<std::unique_ptr<Network>> parts;
  for (std::size_t i = 0; i < 3; ++i) {
    parts.push_back(make_filled(GetParam()));
    parts.back()->set_statistics_reducer(&reducer);
  }
  reducer.run([&](std::size_t i) {
    forward_backward(*parts[i], images.narrow(0, first[i], count[i]), labels.narrow(0, first[i], count[i]));
  });

  const auto expected = gradients_of(*whole);
  double total = 0;
  for (const auto& [name, gradient] : expected)
    total += std::pow(gradient.norm().item<double>(), 2);
  for (const auto& [name, gradient] : expected) {
    at::Tensor sum = parts[0]->state()[0].tensor.new_zeros(gradient.sizes());
    for (const auto& part : parts)
      sum += gradients_of(*part).at(name);
    EXPECT_LT((sum - gradient).norm().item<double>(), 1e-8 * std::sqrt(total)) << name;
  }
}

TEST_P(AnyNetwork, TakesABatchOfNoRows) {
  const auto network = make_filled(GetParam(), kNhwc, at::kFloat);
  const at::Tensor mean = network->buffers()[0].tensor.clone();

  forward_backward(*network, at::empty({0, 3, 48, 40}).contiguous(kNhwc), at::empty({0}, at::kLong));

  for (const auto& [name, gradient] : gradients_of(*network))
    EXPECT_EQ(gradient.norm().item<double>(), 0.0) << name;
  EXPECT_EQ(gradients_of(*network).size(), network->parameters().size());
  EXPECT_TRUE(at::equal(network->buffers()[0].tensor, mean));
}

INSTANTIATE_TEST_SUITE_P(Networks, AnyNetwork, testing::Values("mobilenet_v2", "resnet18", "efficientnet_b0"),
                         [](const auto& instance) { return instance.param; });

TEST(StochasticDepth, DependsOnTheSeedAndEndsInEvaluation) {
  const auto network = make_network("efficientnet_b0", {.classes = 10, .dropout = 0.0, .stochastic_depth = 0.9});
  const auto plain = make_network("efficientnet_b0", {.classes = 10, .dropout = 0.0, .stochastic_depth = 0.0});
  const at::Tensor images = test::formula_images().to(at::kFloat);
  const auto logits = [&](Network& net, std::uint64_t seed) {
    net.set_dropout_seed(seed);
    return net.forward(images);
  };
  network->set_norm_statistics(Statistics::frozen);
  plain->set_norm_statistics(Statistics::frozen);

  const at::Tensor first = logits(*network, 1);
  EXPECT_TRUE(at::equal(first, logits(*network, 1)));
  EXPECT_FALSE(at::equal(first, logits(*network, 2)));
  EXPECT_FALSE(at::equal(first, logits(*plain, 1)));

  network->set_training(Mode::evaluate);
  plain->set_training(Mode::evaluate);
  EXPECT_TRUE(at::equal(logits(*network, 1), logits(*plain, 1)));
}

TEST(Dropout, IsThatOfTheDefinitionUnlessGiven) {
  const at::Tensor images = test::formula_images().to(at::kFloat);
  for (const std::string name : {"mobilenet_v2", "resnet18", "efficientnet_b0"}) {
    NetworkOptions options{.classes = 10};
    if (name == "efficientnet_b0") options.stochastic_depth = 0.0;
    const auto drops = [&](std::optional<double> dropout) {
      options.dropout = dropout;
      const auto network = make_network(name, options);
      network->set_norm_statistics(Statistics::frozen);
      network->set_dropout_seed(1);
      const at::Tensor first = network->forward(images);
      network->set_dropout_seed(2);
      return !at::equal(first, network->forward(images));
    };

    EXPECT_EQ(drops(std::nullopt), !name.starts_with("resnet")) << name;
    EXPECT_FALSE(drops(0.0)) << name;
  }
}

TEST(NetworkFactory, RefusesOptionsThatANetworkHasNot) {
  EXPECT_THROW(make_network("resnet18", {.width = 0.5}), UsageError);
  EXPECT_THROW(make_network("efficientnet_b0", {.width = 1.5}), UsageError);
  EXPECT_THROW(make_network("resnet50", {.dropout = 0.2}), UsageError);
  EXPECT_THROW(make_network("mobilenet_v2", {.stochastic_depth = 0.2}), UsageError);
  EXPECT_THROW(make_network("mobilenet_v2", {.dropout = 1.0}), UsageError);
  EXPECT_THROW(make_network("efficientnet_b0", {.stochastic_depth = -0.1}), UsageError);
  EXPECT_THROW(make_network("efficientnet_b0", {.classes = 0}), UsageError);
}

// Statistics over one value leave the running statistics alone.
TEST(TotalStride, IsTheLargestImageOfWhichOneValuePerChannelIsLeft) {
  for (const std::string& name : network_names()) {
    const auto network = make_network(name, {.classes = test::kFormulaClasses});
    const auto num_moved = [&](std::int64_t size) {
      network->forward(at::randn({1, 3, size, size}));
      std::int64_t moved = 0, norms = 0;
      for (const NamedTensor& buffer : network->buffers())
        if (buffer.name.ends_with("num_batches_tracked")) {
          moved += buffer.tensor.item<std::int64_t>();
          ++norms;
          buffer.tensor.zero_();
        }
      return std::pair(moved, norms);
    };

    const auto [moved, norms] = num_moved(total_stride(name));
    EXPECT_LT(moved, norms) << name;
    const auto [all_moved, all_norms] = num_moved(total_stride(name) + 1);
    EXPECT_EQ(all_moved, all_norms) << name;
  }
  EXPECT_THROW(total_stride("mobilenet_v3"), UsageError);
}

}  // namespace
}  // namespace multicard
