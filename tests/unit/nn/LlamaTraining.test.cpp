// What training does to the network apart from its gradients: adapters, dropout, checkpointing, types, the graph.
#include <map>
#include <set>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include "device/AllocationRecorder.hpp"
#include "language_models.hpp"
#include "nn/language/Llama.hpp"

namespace multicard {
namespace {

using test::gradients;
using test::largest;
using test::random_batch;
using test::small_config;
using test::small_network;

test::TextBatchParts batch() {
  return random_batch({{5, 9}, {13}, {3, 4, 7}}, 14, small_config().vocabulary_size);
}

TEST(FreshAdapters, LeaveTheOutputExactlyAsItIs) {
  const at::Tensor tokens = at::randint(37, {2, 11}, at::kLong);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    const auto network = small_network(small_config(), dtype);
    const at::Tensor before = network->logits(tokens);
    network->add_adapters({.settings = {.rank = 4, .alpha = 8}});
    EXPECT_TRUE(at::equal(network->logits(tokens), before)) << c10::toString(dtype);
  }
}

TEST(FreshAdapters, AreUniformAndZero) {
  LlamaConfig config = small_config();
  config.hidden_size = 256;
  const auto network = small_network(config);
  network->add_adapters({.settings = {.rank = 64}, .seed = 3});

  const NamedTensor &a = network->adapters()[0], &b = network->adapters()[1];
  EXPECT_EQ(a.name, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
  EXPECT_EQ(b.name, "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight");
  EXPECT_EQ(a.tensor.scalar_type(), at::kFloat);
  EXPECT_EQ(a.tensor.sizes(), (at::IntArrayRef{64, 256}));
  EXPECT_LE(largest(a.tensor), 1.0 / 16);
  EXPECT_NEAR(a.tensor.square().mean().sqrt().item<double>(), 1.0 / 16 / std::sqrt(3.0), 5e-4);
  EXPECT_FALSE(at::equal(a.tensor, network->adapters()[2].tensor));
  EXPECT_EQ(largest(b.tensor), 0.0);
}

TEST(Adapters, CanBeTurnedOffAndMerged) {
  const auto network = small_network();
  const at::Tensor tokens = at::randint(37, {2, 11}, at::kLong);
  const at::Tensor base = network->logits(tokens);
  network->add_adapters({.settings = {.rank = 2, .alpha = 6}, .dtype = at::kDouble});
  test::fill_adapters(*network);
  const at::Tensor adapted = network->logits(tokens);
  EXPECT_GT(largest(adapted - base), 1e-3);

  network->set_adapters(Adapters::off);
  EXPECT_TRUE(at::equal(network->logits(tokens), base));

  network->set_adapters(Adapters::on);
  network->merge_adapters();
  EXPECT_LT(largest(network->logits(tokens) - adapted), 1e-11);
  EXPECT_TRUE(network->parameters().empty());
}

TEST(FrozenWeights, GetNoGradientsAndStay) {
  const auto network = small_network();
  network->add_adapters({.dtype = at::kDouble});
  test::fill_adapters(*network);
  const at::Tensor before = network->weights()[2].tensor.clone();

  gradients(*network, batch().input());

  for (const NamedTensor& weight : network->weights()) {
    EXPECT_FALSE(weight.tensor.requires_grad()) << weight.name;
    EXPECT_FALSE(weight.tensor.grad().defined()) << weight.name;
  }
  EXPECT_TRUE(at::equal(network->weights()[2].tensor, before));
}

// Operations in the graph of a loss by their kind, and how many of the linear layers' groups give no gradient to their
// input.
struct Graph {
  std::map<std::string, int> count;
  int num_without_input = 0;

  explicit Graph(const at::Tensor& loss) { visit(loss.grad_fn().get()); }

  int of(const std::string& kind) const {
    int total = 0;
    for (const auto& [name, number] : count)
      if (name.find(kind) != std::string::npos) total += number;
    return total;
  }

 private:
  void visit(torch::autograd::Node* node) {
    if (!node || !seen_.insert(node).second) return;
    ++count[node->name()];
    if (node->name().find("GroupFunction") != std::string::npos && !node->next_edge(0).is_valid()) ++num_without_input;
    for (const auto& edge : node->next_edges())
      visit(edge.function.get());
  }
  std::set<torch::autograd::Node*> seen_;
};

TEST(FrozenWeights, LeaveNoWorkBelowTheFirstAdapter) {
  const test::TextBatchParts data = batch();
  const auto graph_of = [&](std::vector<std::string> targets) {
    const auto network = small_network();
    network->add_adapters({.settings = {.targets = std::move(targets)}});
    return Graph(network->loss_sum(data.input()));
  };

  const Graph all = graph_of({"all-linear"});
  EXPECT_EQ(all.of("GroupFunction"), 3 * 4);
  EXPECT_EQ(all.num_without_input, 1);  // the first block's queries, keys and values
  EXPECT_EQ(all.of("AddRmsNorm"), 2 * 3);
  EXPECT_EQ(all.of("Embedding"), 0);
  EXPECT_EQ(all.of("AccumulateGrad"), 2 * 7 * 3);

  const Graph last = graph_of({"layers.2.mlp.down_proj"});
  EXPECT_EQ(last.of("GroupFunction"), 1);
  EXPECT_EQ(last.num_without_input, 1);
  EXPECT_EQ(last.of("AddRmsNorm"), 1);
  EXPECT_EQ(last.of("Attention"), 0);

  const auto full = small_network();
  EXPECT_EQ(Graph(full->loss_sum(data.input())).num_without_input, 0);
}

void expect_same_with_checkpointing(Llama& network) {
  const test::TextBatchParts data = batch();
  double plain_loss = 0, loss = 0;
  network.set_dropout_seed(11);
  const std::vector<at::Tensor> plain = gradients(network, data.input(), &plain_loss);

  network.set_checkpointing(Checkpointing::per_layer);
  const std::vector<at::Tensor> found = gradients(network, data.input(), &loss);

  EXPECT_EQ(loss, plain_loss);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(at::equal(found[i], plain[i])) << network.parameters()[i].name;
}

TEST(Checkpointing, GivesTheSameBitsOfAllWeights) {
  expect_same_with_checkpointing(*small_network());
}

TEST(Checkpointing, GivesTheSameBitsOfAdaptersWithDropout) {
  const auto network = small_network();
  network->add_adapters({.settings = {.rank = 3, .dropout = 0.2}, .dtype = at::kDouble});
  test::fill_adapters(*network);
  expect_same_with_checkpointing(*network);
  EXPECT_EQ(Graph(network->loss_sum(batch().input())).of("CheckpointedBlock"), 3);
}

TEST(Checkpointing, GivesTheSameBitsIn16Bits) {
  const auto network = small_network(small_config(), at::kFloat);
  network->set_compute_dtype(at::kBFloat16);
  network->add_adapters({.settings = {.rank = 3, .targets = {"v_proj", "up_proj"}}});
  test::fill_adapters(*network);
  expect_same_with_checkpointing(*network);
}

// Bytes that backward of a network of that many layers finds.
std::int64_t kept_bytes(std::int64_t layers) {
  LlamaConfig config = small_config();
  config.num_layers = layers;
  const auto network = small_network(config);
  network->set_checkpointing(Checkpointing::per_layer);
  const test::TextBatchParts data = batch();
  const AllocationRecorder recorder(at::kCPU);
  const at::Tensor loss = network->loss_sum(data.input());
  const StageOfWork stage(WorkStage::backward);
  loss.sum().backward();
  const AllocationTrace trace = recorder.trace();
  std::vector<std::int64_t> bytes;
  for (std::size_t i = 0; i < trace.num_allocations(); ++i)
    bytes.push_back(trace.bytes(i));
  return trace.before_backward_with(bytes).total();
}

TEST(Checkpointing, KeepsOneTensorOfEachBlock) {
  const std::int64_t tokens = batch().tokens.numel(), stream = tokens * small_config().hidden_size * 8;
  EXPECT_EQ(kept_bytes(7) - kept_bytes(3), 4 * stream);
}

TEST(Dropout, IsAFunctionOfItsSeed) {
  const auto network = small_network();
  network->add_adapters({.settings = {.rank = 3, .dropout = 0.5}, .dtype = at::kDouble});
  test::fill_adapters(*network);
  const test::TextBatchParts data = batch();
  const auto loss = [&](std::uint64_t seed) {
    network->set_dropout_seed(seed);
    return network->loss_sum(data.input()).item<double>();
  };
  EXPECT_EQ(loss(1), loss(1));
  EXPECT_NE(loss(1), loss(2));

  network->set_training(Mode::evaluate);
  EXPECT_EQ(loss(1), loss(2));
  const double without = loss(1);
  network->set_training(Mode::train);
  EXPECT_NE(loss(1), without);
}

TEST(Dropout, HasTheGradientOfWhatItComputes) {
  const auto network = small_network();
  network->add_adapters({.settings = {.rank = 3, .dropout = 0.3}, .dtype = at::kDouble});
  test::fill_adapters(*network);
  const test::TextBatchParts data = batch();
  const std::vector<at::Tensor> found = gradients(*network, data.input());

  const at::NoGradGuard no_grad;
  constexpr double kStep = 1e-6;
  for (std::size_t i = 0; i < found.size(); i += 5) {
    at::Tensor value = network->parameters()[i].tensor.view({-1})[3];
    const auto loss_at = [&](double shift) {
      value.add_(shift);
      const double loss = network->loss_sum(data.input()).item<double>();
      value.sub_(shift);
      return loss;
    };
    const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
    EXPECT_NEAR(found[i].view({-1})[3].item<double>(), slope, 1e-6 * (1 + std::abs(slope)));
  }
}

double distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]).square().sum().item<double>();
    size += b[i].square().sum().item<double>();
  }
  return std::sqrt(difference / size);
}

TEST(ComputeTypes, OfFewerBitsAreNearFloat32) {
  const test::TextBatchParts data = batch();
  for (const at::ScalarType weights : {at::kFloat, at::kBFloat16})
    for (const at::ScalarType compute : {at::kBFloat16, at::kHalf}) {
      const auto network = small_network(small_config(), weights);
      network->set_compute_dtype(at::kFloat);
      network->add_adapters({.settings = {.rank = 3}});
      test::fill_adapters(*network);
      double expected_loss = 0, loss = 0;
      const std::vector<at::Tensor> expected = gradients(*network, data.input(), &expected_loss);

      network->set_compute_dtype(compute);
      const std::vector<at::Tensor> found = gradients(*network, data.input(), &loss);

      EXPECT_EQ(found[0].scalar_type(), at::kFloat);
      EXPECT_NEAR(loss / expected_loss, 1.0, 3e-3);
      EXPECT_LT(distance(found, expected), compute == at::kHalf ? 0.02 : 0.1);
    }
}

TEST(ComputeTypes, OfFewerBitsTrainFloat32Weights) {
  const test::TextBatchParts data = batch();
  const auto network = small_network(small_config(), at::kFloat);
  const std::vector<at::Tensor> expected = gradients(*network, data.input());

  network->set_compute_dtype(at::kBFloat16);
  const std::vector<at::Tensor> found = gradients(*network, data.input());

  EXPECT_EQ(found[3].scalar_type(), at::kFloat);
  EXPECT_LT(distance(found, expected), 0.1);
}

TEST(Initialisation, IsAFunctionOfSeedAndElement) {
  const auto a = small_network(), b = small_network();
  for (std::size_t i = 0; i < a->weights().size(); ++i)
    EXPECT_TRUE(at::equal(a->weights()[i].tensor, b->weights()[i].tensor));
  b->initialise(6);
  EXPECT_FALSE(at::equal(a->weights()[0].tensor, b->weights()[0].tensor));
  EXPECT_NEAR(a->weights()[0].tensor.std().item<double>(), 0.2, 0.02);
  EXPECT_EQ(a->weights()[1].tensor.min().item<double>(), 1.0);
}

}  // namespace
}  // namespace multicard
