#include "nn/language/Generate.hpp"

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

using Tokens = std::vector<std::int64_t>;
using Watch = std::function<bool(std::size_t, std::int64_t)>;

// What follows one prompt.
Generated continued(Llama& network, const Tokens& prompt, const GenerateOptions& options) {
  return generate(network, {prompt}, options).front();
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
  EXPECT_THROW(TokenSampler({.top_k = -1}), UsageError);
  EXPECT_THROW(TokenSampler({.repetition_penalty = 0}), UsageError);
  EXPECT_THROW(TokenSampler({.repetition_penalty = std::nan("")}), UsageError);
}

TEST(Generate, IsWhatRepeatedReadingOfTheWholeTextGives) {
  const auto network = test::small_network();
  std::vector<std::int64_t> text{3, 1, 4, 1, 5};

  const Tokens found = continued(*network, text, {.sampling = {.temperature = 0}, .max_new = 12}).tokens;

  for (int i = 0; i < 12; ++i)
    text.push_back(
        network->logits(at::tensor(text, at::kLong).unsqueeze(0))[0].select(0, -1).argmax().item<std::int64_t>());
  EXPECT_EQ(found, std::vector<std::int64_t>(text.begin() + 5, text.end()));
}

TEST(Generate, StopsAtEachEndTokenUnlessTold) {
  LlamaConfig config = test::small_config();
  const std::vector<std::int64_t> prompt{2, 7};
  GenerateOptions options{.sampling = {.temperature = 3.0, .seed = 4}, .max_new = 40};
  const Tokens whole = continued(*test::small_network(config), prompt, options).tokens;
  ASSERT_EQ(whole.size(), 40U);
  config.eos = {36 * 100, whole[7]};
  const auto network = test::small_network(config);

  const Generated stopped = continued(*network, prompt, options);

  const auto end = std::find(whole.begin(), whole.end(), whole[7]);
  EXPECT_EQ(stopped.tokens, Tokens(whole.begin(), end));
  EXPECT_EQ(stopped.finish, Finish::end_token);
  options.end_tokens = EndTokens::ignore;
  EXPECT_EQ(continued(*network, prompt, options).tokens, whole);
  EXPECT_EQ(continued(*network, prompt, options).finish, Finish::length);
  options.end_tokens = EndTokens::stop;
  options.more_ends = {whole[0]};
  EXPECT_TRUE(continued(*network, prompt, options).tokens.empty());
}

TEST(Generate, RefusesToChooseFromLogitsThatAreNotFinite) {
  for (const double temperature : {0.0, 1.0}) {
    const auto network = test::small_network();
    const at::NoGradGuard no_grad;
    at::Tensor weight = network->weights().back().tensor;
    weight.fill_(std::nan(""));
    EXPECT_THROW(continued(*network, {1, 2}, {.sampling = {.temperature = temperature}}), NumericalError);
  }
}

TEST(Generate, ShowsTokensAsTheyComeAndCanBeStopped) {
  const auto network = test::small_network();
  std::vector<std::int64_t> seen;

  const Watch watch = [&](std::size_t number, std::int64_t token) {
    EXPECT_EQ(number, 0U);
    seen.push_back(token);
    return seen.size() < 3;
  };
  const Generated found = generate(*network, {{1}}, {}, watch).front();

  EXPECT_EQ(found.tokens.size(), 3U);
  EXPECT_EQ(found.tokens, seen);
  EXPECT_EQ(found.finish, Finish::stopped);
  EXPECT_THROW(continued(*network, {}, {}), UsageError);
  EXPECT_TRUE(generate(*network, {}, {}).empty());
}

// Prompts of different lengths, more than fit a batch.
std::vector<Tokens> many_prompts(std::int64_t vocabulary) {
  std::vector<Tokens> prompts;
  for (const std::size_t length : {5U, 1U, 40U, 2U, 17U, 9U, 3U}) {
    Tokens prompt(length);
    for (std::size_t i = 0; i < length; ++i)
      prompt[i] = static_cast<std::int64_t>(uniform_value(length, i) * static_cast<double>(vocabulary - 1));
    prompts.push_back(prompt);
  }
  return prompts;
}

TEST(Generate, ContinuesEachPromptOfABatchAsAlone) {
  LlamaConfig windowed = test::small_config();
  windowed.windows = {0, 6, 0};
  const std::unique_ptr<Llama> networks[] = {test::story_network(at::kFloat),
                                             test::small_network(windowed, at::kFloat)};
  for (const std::unique_ptr<Llama>& network : networks) {
    const std::vector<Tokens> prompts = many_prompts(network->config().vocabulary_size);
    for (const double penalty : {1.0, 1.3}) {
      GenerateOptions options{.sampling = {.temperature = 0, .repetition_penalty = penalty}, .max_new = 50};
      options.batch = 3;
      const std::vector<Generated> found = generate(*network, prompts, options);
      ASSERT_EQ(found.size(), prompts.size());
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        EXPECT_EQ(found[i].tokens, continued(*network, prompts[i], options).tokens) << "prompt " << i;
        EXPECT_FALSE(found[i].tokens.empty());
      }
    }
  }
}

TEST(Generate, DrawsForEachPromptWithASeedOfItsOwn) {
  const auto network = test::small_network();
  GenerateOptions options{.sampling = {.temperature = 2.0, .seed = 11}, .max_new = 20};
  options.batch = 8;

  const std::vector<Generated> found = generate(*network, {{4, 2}, {4, 2}, {4, 2}}, options);

  EXPECT_NE(found[0].tokens, found[1].tokens);
  options.sampling.seed = 13;
  EXPECT_EQ(found[2].tokens, continued(*network, {4, 2}, options).tokens);
}

TEST(Generate, EndsOneTextOfABatchWithoutTheOthers) {
  const auto network = test::small_network();
  const std::vector<Tokens> prompts{{1}, {2, 3}, {7, 8, 9}};
  GenerateOptions options{.sampling = {.temperature = 0}, .max_new = 10, .end_tokens = EndTokens::ignore};
  options.batch = 3;
  std::map<std::size_t, std::int64_t> counts;

  const Watch watch = [&](std::size_t number, std::int64_t) { return ++counts[number] < 4 || number != 1; };
  const std::vector<Generated> found = generate(*network, prompts, options, watch);

  EXPECT_EQ(counts, (std::map<std::size_t, std::int64_t>{{0, 10}, {1, 4}, {2, 10}}));
  for (std::size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ(found[i].finish, i == 1 ? Finish::stopped : Finish::length);
  options.batch = 0;
  EXPECT_THROW(generate(*network, prompts, options), UsageError);
}

// What transformers draws with these options (README.md in tests/data/oracles/generate).
TEST(TokenSampler, DrawsWithTheProbabilitiesOfTransformers) {
  const nlohmann::json oracle = test::json_of("oracles/generate/oracle.json");
  const at::Tensor logits = at::tensor(oracle.at("logits").get<std::vector<double>>(), at::kDouble);
  constexpr int kDraws = 40000;
  for (const nlohmann::json& one : oracle.at("sampling")) {
    TokenSampler sampler({.temperature = one.at("temperature").get<double>(),
                          .top_k = one.at("top_k").get<std::int64_t>(),
                          .top_p = one.at("top_p").get<double>(),
                          .repetition_penalty = one.at("penalty").get<double>()});
    sampler.read(oracle.at("read").get<Tokens>());
    std::vector<double> found(static_cast<std::size_t>(logits.numel()));
    for (int i = 0; i < kDraws; ++i)
      found[static_cast<std::size_t>(sampler.next(logits))] += 1.0 / kDraws;
    const auto expected = one.at("probabilities").get<std::vector<double>>();
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], expected[i] == 0 ? 0.0 : 0.01) << one.dump() << " token " << i;
  }
}

TEST(Generate, PenalisesRepetitionAsTransformersDoes) {
  const nlohmann::json oracle = test::json_of("oracles/generate/oracle.json");
  const auto network = test::story_network(at::kFloat);
  for (const nlohmann::json& one : oracle.at("greedy")) {
    const auto expected = one.at("new").get<Tokens>();
    GenerateOptions options{.sampling = {.temperature = 0, .repetition_penalty = one.at("penalty").get<double>()},
                            .max_new = std::ssize(expected),
                            .end_tokens = EndTokens::ignore};
    EXPECT_EQ(continued(*network, one.at("prompt").get<Tokens>(), options).tokens, expected) << one.dump();
  }
}

}  // namespace
}  // namespace multicard
