#include "nn/Generate.hpp"

#include <cmath>
#include <map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "language_models.hpp"

namespace multicard {
namespace {

// How often each token is drawn in `count` draws.
std::vector<double> shares(const SamplingOptions& options, const at::Tensor& logits, int count) {
  TokenSampler sampler(options);
  std::vector<double> result(static_cast<std::size_t>(logits.numel()));
  for (int i = 0; i < count; ++i)
    result[static_cast<std::size_t>(sampler.next(logits))] += 1.0 / count;
  return result;
}

at::Tensor logits_of(std::vector<double> probabilities) {
  return at::tensor(probabilities, at::kDouble).log();
}

TEST(TokenSampler, DrawsByProbability) {
  const std::vector<double> found = shares({}, logits_of({0.1, 0.6, 0.3}), 20000);

  EXPECT_NEAR(found[0], 0.1, 0.01);
  EXPECT_NEAR(found[1], 0.6, 0.01);
  EXPECT_NEAR(found[2], 0.3, 0.01);
}

TEST(TokenSampler, SharpensAtLowTemperature) {
  const std::vector<double> found = shares({.temperature = 0.5}, logits_of({0.1, 0.6, 0.3}), 20000);

  EXPECT_NEAR(found[1], 0.36 / 0.46, 0.01);
  EXPECT_NEAR(found[2], 0.09 / 0.46, 0.01);
}

TEST(TokenSampler, KeepsTheLikeliestOfTopP) {
  const std::vector<double> found = shares({.top_p = 0.8}, logits_of({0.1, 0.6, 0.3}), 20000);

  EXPECT_EQ(found[0], 0.0);
  EXPECT_NEAR(found[1], 0.6 / 0.9, 0.01);
  EXPECT_NEAR(shares({.top_p = 0.01}, logits_of({0.1, 0.6, 0.3}), 50)[1], 1.0, 1e-9);
}

TEST(TokenSampler, TakesTheLargestLogitAtTemperatureZero) {
  EXPECT_NEAR(shares({.temperature = 0}, at::tensor({0.0, 3.0, 2.9}), 20)[1], 1.0, 1e-9);
  EXPECT_NEAR(shares({.temperature = 1e-6}, at::tensor({0.0, 3.0, 2.9}), 20)[1], 1.0, 1e-9);
}

TEST(TokenSampler, DrawsTheSameForTheSameSeed) {
  const at::Tensor logits = at::zeros({50});
  const auto draws = [&](std::uint64_t seed) {
    TokenSampler sampler({.seed = seed});
    std::vector<std::int64_t> tokens(20);
    for (std::int64_t& token : tokens)
      token = sampler.next(logits);
    return tokens;
  };

  EXPECT_EQ(draws(1), draws(1));
  EXPECT_NE(draws(1), draws(2));
}

TEST(TokenSampler, RefusesOptionsOutOfRange) {
  EXPECT_THROW(TokenSampler({.temperature = -1}), UsageError);
  EXPECT_THROW(TokenSampler({.top_p = 0}), UsageError);
  EXPECT_THROW(TokenSampler({.top_p = 1.1}), UsageError);
}

TEST(Generate, IsWhatRepeatedReadingOfTheWholeTextGives) {
  const auto network = test::small_network();
  std::vector<std::int64_t> text{3, 1, 4, 1, 5};

  const std::vector<std::int64_t> found = generate(*network, text, {.sampling = {.temperature = 0}, .max_new = 12});

  for (int i = 0; i < 12; ++i)
    text.push_back(
        network->logits(at::tensor(text, at::kLong).unsqueeze(0))[0].select(0, -1).argmax().item<std::int64_t>());
  EXPECT_EQ(found, std::vector<std::int64_t>(text.begin() + 5, text.end()));
}

TEST(Generate, StopsAtEachEndTokenUnlessTold) {
  LlamaConfig config = test::small_config();
  const std::vector<std::int64_t> prompt{2, 7};
  GenerateOptions options{.sampling = {.temperature = 3.0, .seed = 4}, .max_new = 40};
  const std::vector<std::int64_t> whole = generate(*test::small_network(config), prompt, options);
  ASSERT_EQ(whole.size(), 40U);
  config.eos = {36 * 100, whole[7]};
  const auto network = test::small_network(config);

  const std::vector<std::int64_t> stopped = generate(*network, prompt, options);

  const auto end = std::find(whole.begin(), whole.end(), whole[7]);
  EXPECT_EQ(stopped, std::vector<std::int64_t>(whole.begin(), end));
  options.end_tokens = EndTokens::ignore;
  EXPECT_EQ(generate(*network, prompt, options), whole);
  options.end_tokens = EndTokens::stop;
  options.more_ends = {whole[0]};
  EXPECT_TRUE(generate(*network, prompt, options).empty());
}

TEST(Generate, RefusesToChooseFromLogitsThatAreNotFinite) {
  for (const double temperature : {0.0, 1.0}) {
    const auto network = test::small_network();
    const at::NoGradGuard no_grad;
    at::Tensor weight = network->weights().back().tensor;
    weight.fill_(std::nan(""));
    EXPECT_THROW(generate(*network, {1, 2}, {.sampling = {.temperature = temperature}}), NumericalError);
  }
}

TEST(Generate, ShowsTokensAsTheyComeAndCanBeStopped) {
  const auto network = test::small_network();
  std::vector<std::int64_t> seen;

  const std::vector<std::int64_t> found = generate(*network, {1}, {}, [&](std::int64_t token) {
    seen.push_back(token);
    return seen.size() < 3;
  });

  EXPECT_EQ(found.size(), 3U);
  EXPECT_EQ(found, seen);
  EXPECT_THROW(generate(*network, {}, {}), UsageError);
}

}  // namespace
}  // namespace multicard
