#include <gtest/gtest.h>

#include "oracle_run.hpp"
#include "replicas.hpp"

namespace multicard {
namespace {

using test::Arithmetic;
using test::oracle;
using test::Samples;

constexpr int kSteps = 10;
constexpr std::int64_t kRows = 8;

class MobileNetV2Oracle : public testing::TestWithParam<Arithmetic> {
 protected:
  bool is_double() const { return GetParam().dtype == at::kDouble; }
  std::unique_ptr<Network> network(const std::string& weights = "init.safetensors") const {
    return test::oracle_network(weights, GetParam());
  }
  Samples batch(int index) const { return test::oracle_batch(index, GetParam()); }
  /// Compares a summary of the oracle with a tensor.
  static void expect_summary(const at::Tensor& tensor, const nlohmann::json& summary, const std::string& name) {
    const double expected = summary["l2"].get<double>();
    EXPECT_NEAR(test::l2(tensor), expected, 1e-3 * std::abs(expected) + 1e-3) << name;
  }
  static void expect_state(const Network& network, const nlohmann::json& final) {
    for (const NamedTensor& parameter : network.parameters())
      expect_summary(parameter.tensor, final["parameters"][parameter.name], parameter.name);
    for (const NamedTensor& buffer : network.buffers()) {
      if (buffer.name.ends_with("num_batches_tracked")) {
        EXPECT_EQ(buffer.tensor.item<std::int64_t>(), final["num_batches_tracked"].get<std::int64_t>());
      } else {
        expect_summary(buffer.tensor, final["buffers"][buffer.name], buffer.name);
      }
    }
  }
  void expect_logits(Network& network, const nlohmann::json& expected, double tolerance) const {
    const at::NoGradGuard no_grad;
    network.set_training(Mode::evaluate);
    const at::Tensor logits = network.forward(batch(0).images).to(at::kDouble);
    network.set_training(Mode::train);
    for (std::size_t row = 0; row < expected.size(); ++row)
      for (std::size_t i = 0; i < expected[row].size(); ++i)
        EXPECT_NEAR(logits[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(i)].item<double>(),
                    expected[row][i].get<double>(), tolerance);
  }
};

TEST_P(MobileNetV2Oracle, TrainsAsTorchvision) {
  const auto& expected = oracle()["single_float64"];
  const auto net = network();
  test::Sgd sgd(*net);
  expect_logits(*net, expected["eval_logits_before"], is_double() ? 1e-8 : 1e-4);

  for (int step = 0; step < kSteps; ++step) {
    const double loss = test::forward_backward(*net, batch(step), kRows);

    EXPECT_NEAR(loss, expected["loss"][step].get<double>(), is_double() ? 1e-9 : step < 9 ? 1e-4 : 1e-3) << step;
    const double norm = expected["grad_norm"][step].get<double>();
    EXPECT_NEAR(test::gradient_norm(*net), norm, norm * (is_double() ? 1e-8 : 5e-2)) << step;
    sgd.step();
  }

  expect_state(*net, expected["final"]);
  expect_logits(*net, expected["eval_logits_after"], is_double() ? 1e-6 : 5e-3);
}

TEST_P(MobileNetV2Oracle, HasTorchvisionsGradients) {
  const auto net = network();

  test::forward_backward(*net, batch(0), kRows);

  const auto& expected = oracle()["single_float64"]["step0_grad_l2"];
  for (const NamedTensor& parameter : net->parameters()) {
    const double norm = expected[parameter.name].get<double>();
    if (norm <= 1e-4) continue;  // zero in exact arithmetic
    EXPECT_NEAR(test::l2(parameter.tensor.grad()), norm, 1e-3 * norm) << parameter.name;
  }
}

TEST_P(MobileNetV2Oracle, TrainsAsTwoReplicasOfDistributedDataParallel) {
  const auto& expected = oracle()["ddp2_float64"];
  std::vector<std::unique_ptr<Network>> replicas;
  replicas.push_back(network());
  replicas.push_back(network());
  Network &first = *replicas[0], &second = *replicas[1];
  test::Sgd first_sgd(first), second_sgd(second);

  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t i = 0; i < first.buffers().size(); ++i)
      at::Tensor(second.buffers()[i].tensor).copy_(first.buffers()[i].tensor);
    const double loss = test::forward_backward(first, batch(step).rows(0, 4), kRows) +
                        test::forward_backward(second, batch(step).rows(4, 4), kRows);
    test::sum_gradients(replicas);

    EXPECT_NEAR(loss, expected["loss_mean"][step].get<double>(), is_double() ? 1e-9 : step < 8 ? 1e-4 : 2e-3) << step;
    first_sgd.step();
    second_sgd.step();
  }

  expect_state(first, expected["final"]);
}

TEST_P(MobileNetV2Oracle, TrainsOnReplicasWithSynchronisedStatisticsAsOnOne) {
  const auto& expected = oracle()["single_float64"];
  const std::vector<std::int64_t> first{0, 5, 5}, count{5, 0, 3};
  test::ThreadReducer reducer(3);
  std::vector<std::unique_ptr<Network>> replicas;
  std::vector<test::Sgd> optimizers;
  for (int i = 0; i < 3; ++i) {
    replicas.push_back(network());
    replicas.back()->set_statistics_reducer(&reducer);
    optimizers.emplace_back(*replicas.back());
  }

  // In float32 another order of summation moves a unit over a corner of ReLU6 at step 5, with any implementation.
  const int steps = is_double() ? kSteps : 5;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> losses(3);
    reducer.run([&](std::size_t i) {
      losses[i] = test::forward_backward(*replicas[i], batch(step).rows(first[i], count[i]), kRows);
    });
    test::sum_gradients(replicas);
    for (test::Sgd& sgd : optimizers)
      sgd.step();

    EXPECT_NEAR(losses[0] + losses[1] + losses[2], expected["loss"][step].get<double>(),
                is_double() ? 1e-9
                : step < 9  ? 1e-4
                            : 1e-3)
        << step;
  }

  if (is_double()) expect_state(*replicas[1], expected["final"]);
}

TEST_P(MobileNetV2Oracle, HasTorchvisionsLossesFromFreshWeights) {
  const auto& expected = oracle()["fresh_float64"]["no_update"];
  for (int index = 0; index < kSteps; ++index) {
    const auto net = network("init_fresh.safetensors");

    const double loss = test::forward_backward(*net, batch(index), kRows);

    const double norm = expected[index]["grad_norm"].get<double>();
    EXPECT_NEAR(loss, expected[index]["loss"].get<double>(), 1e-5);
    // In float32 another order of summation moves units over a corner of ReLU6, each worth up to 2.5e-3.
    EXPECT_NEAR(test::gradient_norm(*net), norm, (is_double() ? 1e-8 : 5e-3) * norm);
  }
}

TEST_P(MobileNetV2Oracle, TrainsAsTorchvisionFromFreshWeightsWhileThatIsRepeatable) {
  const auto& expected = oracle()["fresh_float64"]["loss_of_training"];
  const auto net = network("init_fresh.safetensors");
  test::Sgd sgd(*net);

  const double first = test::forward_backward(*net, batch(0), kRows);
  sgd.step();
  const double second = test::forward_backward(*net, batch(1), kRows);

  EXPECT_NEAR(first, expected[0].get<double>(), is_double() ? 1e-9 : 1e-5);
  EXPECT_NEAR(second, expected[1].get<double>(), is_double() ? 1e-9 : 5e-3);
}

INSTANTIATE_TEST_SUITE_P(Arithmetics, MobileNetV2Oracle,
                         testing::Values(Arithmetic{at::kDouble, at::MemoryFormat::Contiguous},
                                         Arithmetic{at::kDouble, at::MemoryFormat::ChannelsLast},
                                         Arithmetic{at::kFloat, at::MemoryFormat::Contiguous},
                                         Arithmetic{at::kFloat, at::MemoryFormat::ChannelsLast}),
                         [](const auto& instance) {
                           const std::string layout =
                               instance.param.layout == at::MemoryFormat::Contiguous ? "Nchw" : "Nhwc";
                           return (instance.param.dtype == at::kDouble ? "Float64" : "Float32") + layout;
                         });

}  // namespace
}  // namespace multicard
