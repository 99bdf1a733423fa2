// Losses of preference pairs: numbers of TRL and torchtune, and the formulas on simple values.
#include "nn/losses/PreferenceLoss.hpp"

#include <cmath>
#include <numbers>

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

at::Tensor numbers(const std::vector<double>& values) {
  return at::tensor(values, at::kDouble);
}

PreferenceOptions options_of(PreferenceLoss loss, double label_smoothing = 0) {
  PreferenceOptions options;
  options.loss = loss;
  options.label_smoothing = label_smoothing;
  return options;
}

void expect_near(const at::Tensor& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.numel(), static_cast<std::int64_t>(expected.size()));
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[static_cast<std::int64_t>(i)].item<double>(), expected[i], tolerance) << i;
}

// h is 0, 10 and 20.
const PairLogProbs kPolicy{numbers({-0.5, -10, -1}), numbers({-0.1, -30, -21})};
const PairLogProbs kReference{numbers({-0.5, -10.1, -0.1}), numbers({-0.1, -20.1, -0.1})};

TEST(PreferenceLoss, HasTheNumbersOfTorchtune) {
  const auto losses = [](PreferenceLoss loss, double smoothing) {
    return preference_losses(kPolicy, kReference, options_of(loss, smoothing));
  };

  expect_near(losses(PreferenceLoss::sigmoid, 0), {0.693147, 0.313262, 0.126928}, 1e-6);
  expect_near(losses(PreferenceLoss::sigmoid, 0.1), {0.693147, 0.413262, 0.326928}, 1e-6);
  expect_near(losses(PreferenceLoss::sigmoid, 0.2), {0.693147, 0.513262, 0.526928}, 1e-6);
  expect_near(losses(PreferenceLoss::robust, 0), {0.693147, 0.313262, 0.126928}, 1e-6);
  expect_near(losses(PreferenceLoss::robust, 0.1), {0.693147, 0.188262, -0.123072}, 1e-6);
  expect_near(losses(PreferenceLoss::robust, 0.2), {0.693147, -0.020072, -0.539739}, 1e-6);
  expect_near(losses(PreferenceLoss::ipo, 0), {25, 25, 225}, 1e-10);
  expect_near(losses(PreferenceLoss::hinge, 0), {1, 0, 0}, 1e-10);
}

TEST(PreferenceLoss, HasTheNumbersOfTrl) {
  const auto path = test::source_path("tests/data/oracles/dpo/oracle.json").string();
  const auto oracle = nlohmann::json::parse(read_file(path))["float64"]["first_batch_after_training"];
  std::vector<at::Tensor> given;
  for (const auto& values : oracle["logps_chosen_rejected_refchosen_refrejected"])
    given.push_back(numbers(values.get<std::vector<double>>()));
  const PairLogProbs policy{given[0], given[1]}, reference{given[2], given[3]};
  const auto expect = [&](const PreferenceOptions& options, const char* name) {
    SCOPED_TRACE(name);
    expect_near(preference_losses(policy, reference, options), oracle[name].get<std::vector<double>>(), 1e-12);
  };

  expect(options_of(PreferenceLoss::sigmoid), "sigmoid");
  expect(options_of(PreferenceLoss::sigmoid, 0.1), "cdpo_label_smoothing_0.1");
  expect(options_of(PreferenceLoss::robust, 0.1), "robust_0.1");
  expect(options_of(PreferenceLoss::hinge), "hinge");
  expect(options_of(PreferenceLoss::ipo), "ipo_on_sum_logps");
}

TEST(PreferenceLoss, BeginsWithTheValueOfEqualModels) {
  const auto first = [](PreferenceLoss loss, double smoothing = 0) {
    return preference_losses(kPolicy, kPolicy, options_of(loss, smoothing))[0].item<double>();
  };

  EXPECT_DOUBLE_EQ(first(PreferenceLoss::sigmoid), std::numbers::ln2);
  EXPECT_DOUBLE_EQ(first(PreferenceLoss::sigmoid, 0.3), std::numbers::ln2);
  EXPECT_DOUBLE_EQ(first(PreferenceLoss::robust, 0.3), std::numbers::ln2);
  EXPECT_DOUBLE_EQ(first(PreferenceLoss::ipo), 25);
  EXPECT_DOUBLE_EQ(first(PreferenceLoss::hinge), 1);
}

TEST(PreferenceLoss, HasTheGradientOfTheDefinition) {
  const at::Tensor chosen = numbers({-3, -2}).requires_grad_(true);

  preference_losses({chosen, numbers({-4, -1})}, {numbers({-3, -3}), numbers({-3, -3})},
                    options_of(PreferenceLoss::sigmoid))
      .sum()
      .backward();

  // h is 1 and -1; the derivative of -log sigmoid(b h) is -b sigmoid(-b h).
  expect_near(chosen.grad(), {-0.1 / (1 + std::exp(0.1)), -0.1 / (1 + std::exp(-0.1))}, 1e-15);
}

TEST(PreferenceLoss, CountsATieAsWrong) {
  const at::Tensor sums =
      reward_sums({numbers({-1, -2, -3}), numbers({-1, -3, -1})}, {numbers({0, 0, 0}), numbers({0, 0, 0})}, 0.5).values;

  expect_near(sums, {-3, -2.5, -0.5, 1}, 1e-15);
}

}  // namespace
}  // namespace multicard
