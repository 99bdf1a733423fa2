// Fake-quantised networks against torchao's (tests/data/oracles/qat/README.md).
#include <algorithm>

#include <ATen/ops/logsumexp.h>
#include <gtest/gtest.h>

#include "language_models.hpp"

namespace multicard {
namespace {

using test::json_of;

WeightFormat format(WeightFormat::Kind kind) {
  WeightFormat format;
  format.kind = kind;
  format.group_size = 32;
  return format;
}

test::TextBatchParts batch_of(std::int64_t step) {
  return test::oracle_rows(TensorFile(test::source_path("tests/data/oracles/qat/batches.safetensors").string()), step);
}

struct Numbers {
  double loss = 0, norm = 0;
  std::map<std::string, double> norms;
};

/// The mean loss of a batch, and the norms of its gradients.
Numbers numbers_of(Llama& network, std::int64_t step) {
  const test::TextBatchParts batch = batch_of(step);
  double targets = 0;
  for (const RowShape& shape : batch.shapes)
    targets += static_cast<double>(shape.num_targets);
  Numbers numbers;
  const std::vector<at::Tensor> gradients = test::gradients(network, batch.input(), &numbers.loss);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double norm = gradients[i].to(at::kDouble).norm().item<double>() / targets;
    numbers.norms[network.parameters()[i].name] = norm;
    numbers.norm += norm * norm;
  }
  return {numbers.loss / targets, std::sqrt(numbers.norm), numbers.norms};
}

// Between two correct programs an activation falls on the other side of a rounding boundary here and there and moves a
// batch: by up to 7e-4 between two attentions of torchao's own network, 2e-3 here. Batches without one agree closely;
// how many those are depends on the instruction set: 3 to 7 of 10 batches of torchao itself are within 1e-5 of these.
TEST(LlamaQat, LossesAndGradientsAreTorchaos) {
  const nlohmann::json expected = json_of("oracles/qat/oracle.json").at("no_update");
  const auto network = test::story_network(at::kFloat, format(WeightFormat::Kind::fake_int4));
  std::vector<double> distances;

  for (std::size_t step = 0; step < expected.size(); ++step) {
    const Numbers found = numbers_of(*network, static_cast<std::int64_t>(step));
    const double loss = expected[step].at("loss").get<double>(), norm = expected[step].at("grad_norm").get<double>();
    EXPECT_NEAR(found.loss, loss, 4e-3) << step;
    EXPECT_NEAR(found.norm, norm, 4e-3 * norm) << step;
    distances.push_back(std::max(std::abs(found.loss - loss), std::abs(found.norm / norm - 1)));
  }

  std::sort(distances.begin(), distances.end());
  EXPECT_LT(distances.front(), 1e-6);
  EXPECT_LT(distances[distances.size() / 2], 1e-3);  // gradients of torchao 0.10 are 1e-3 away, plain ones 1e-2
}

TEST(LlamaQat, GradientsOfEachTensorAreTorchaos) {
  const nlohmann::json expected = json_of("oracles/qat/oracle.json").at("no_update")[0].at("grad_l2");
  const auto network = test::story_network(at::kFloat, format(WeightFormat::Kind::fake_int4));

  const Numbers found = numbers_of(*network, 0);

  for (const auto& [name, norm] : found.norms)
    EXPECT_NEAR(norm, expected.at(name).get<double>(), 2e-3 * norm) << name;
}

TEST(LlamaQat, WithoutFakeQuantisationItIsThePlainNetwork) {
  const nlohmann::json expected = json_of("oracles/qat/oracle.json").at("run_without_fake_quantisation");
  const auto network = test::story_network(at::kFloat, format(WeightFormat::Kind::fake_int4));
  network->set_fake_quantisation(FakeQuantisation::off);

  const Numbers found = numbers_of(*network, 0);

  EXPECT_NEAR(found.loss, expected.at("loss")[0].get<double>(), 1e-5);
  EXPECT_NEAR(found.norm, expected.at("grad_norm")[0].get<double>(), 1e-4);
}

TEST(LlamaQat, CheckpointedBlocksGiveTheSameGradients) {
  const auto network = test::story_network(at::kFloat, format(WeightFormat::Kind::fake_int4));
  const test::TextBatchParts batch = batch_of(1);
  const std::vector<at::Tensor> expected = test::gradients(*network, batch.input());
  network->set_checkpointing(Checkpointing::per_layer);

  const std::vector<at::Tensor> found = test::gradients(*network, batch.input());

  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(found[i].equal(expected[i])) << network->parameters()[i].name;
}

TEST(LlamaQat, PackedNetworkGivesTheLogitsOfTheFakeQuantisedOne) {
  const auto faked = test::story_network(at::kFloat, format(WeightFormat::Kind::fake_int4));
  const auto packed = test::story_network(at::kFloat, format(WeightFormat::Kind::int4));
  std::map<std::string, at::Tensor> weights;
  for (const NamedTensor& weight : faked->weights())
    weights[weight.name] = weight.tensor.detach();
  for (const WeightSink& sink : packed->sinks())
    sink.fill(weights.at(sink.name));
  const at::Tensor tokens = batch_of(0).tokens.narrow(0, 0, 1);

  const at::Tensor found = packed->logits(tokens), expected = faked->logits(tokens);

  EXPECT_LT((found.logsumexp({2}) - expected.logsumexp({2})).abs().max().item<double>(), 1e-5);
  EXPECT_LT(packed->weight_bytes(), faked->weight_bytes());
}

}  // namespace
}  // namespace multicard
