// The network against the results of transformers and PEFT (README.md in tests/data/models and
// tests/data/oracles/lora).
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "language_models.hpp"
#include "nn/language/Generate.hpp"

namespace multicard {
namespace {

using test::json_of;
using test::source_path;
using test::story_network;

// The reference computes norms and rotary angles in float32 even in its float64 runs.
constexpr double kNearlyExact = 2e-6;

TEST(StoryNetwork, GivesTheLogitsOfTransformers) {
  const nlohmann::json golden = json_of("models/golden_tinystories.json").at("TinyStories-656K");
  const auto network = story_network(at::kDouble);
  const auto prompt = golden.at("prompt_ids").get<std::vector<std::int64_t>>();

  const at::Tensor logits = network->logits(at::tensor(prompt, at::kLong).unsqueeze(0)).squeeze(0);

  const at::Tensor last = logits.select(0, -1);
  EXPECT_NEAR(last.logsumexp({0}).item<double>(), golden.at("last_logsumexp").get<double>(), 20 * kNearlyExact);
  for (const auto& entry : golden.at("last_top10"))
    EXPECT_NEAR(last[entry[0].get<std::int64_t>()].item<double>(), entry[1].get<double>(), 20 * kNearlyExact);
  for (std::int64_t i = 0; i < 8; ++i)
    EXPECT_NEAR(logits[0][i].item<double>(), golden.at("first_logits_pos0")[static_cast<std::size_t>(i)].get<double>(),
                20 * kNearlyExact);
}

TEST(StoryNetwork, GivesTheLossOfTransformers) {
  const nlohmann::json golden = json_of("models/golden_tinystories.json").at("TinyStories-656K");
  const auto network = story_network(at::kDouble);
  const auto prompt = golden.at("prompt_ids").get<std::vector<std::int64_t>>();
  const at::Tensor tokens = at::tensor(prompt, at::kLong).unsqueeze(0);
  at::Tensor targets = at::full_like(tokens, -100);
  const std::int64_t count = tokens.size(1) - 1;
  targets.narrow(1, 0, count).copy_(tokens.narrow(1, 1, count));
  const std::vector<RowShape> shapes{{{count + 1}, count}};

  const double sum = network->loss_sum({tokens, targets, shapes}).item<double>();

  EXPECT_NEAR(sum / static_cast<double>(count), golden.at("prompt_mean_nll").get<double>(), kNearlyExact);
}

TEST(StoryNetwork, ContinuesAsTransformersDoes) {
  const nlohmann::json golden = json_of("models/golden_tinystories.json").at("TinyStories-656K");
  const auto network = story_network(at::kFloat);
  const auto prompt = golden.at("prompt_ids").get<std::vector<std::int64_t>>();
  const auto expected = golden.at("greedy_ids").get<std::vector<std::int64_t>>();
  GenerateOptions options;
  options.sampling.temperature = 0;
  options.max_new = static_cast<std::int64_t>(expected.size() - prompt.size());

  std::vector<std::int64_t> text = prompt;
  const std::vector<std::int64_t> added = generate(*network, {prompt}, options).front().tokens;
  text.insert(text.end(), added.begin(), added.end());

  EXPECT_EQ(text, expected);
}

constexpr const char* kLora = "oracles/lora/";

// One training run of the oracle: adapters of rank 8 at all linear layers of the story network.
class AdapterRun {
 public:
  explicit AdapterRun(at::ScalarType dtype) : network_(story_network(dtype)), batches_(path("batches.safetensors")) {
    network_->add_adapters({.settings = {.rank = 8, .alpha = 16}, .dtype = dtype});
    load_adapter("adapter_init/adapter_model.safetensors");
  }

  static std::string path(const std::string& file) { return source_path("tests/data/" + (kLora + file)).string(); }

  void load_adapter(const std::string& file) { copy_into(network_->adapters(), TensorFile(path(file))); }

  test::TextBatchParts rows(std::int64_t step, std::int64_t first, std::int64_t count) const {
    return test::oracle_rows(batches_, step, first, count);
  }

  struct Step {
    double loss, norm;
  };
  // Loss and gradient norm of a step of 4 rows, `micro` at a time, and the update.
  Step step(std::int64_t number, double rate, double clip, std::int64_t micro) {
    test::clear_gradients(*network_);
    double targets = 0, loss = 0, squares = 0;
    for (const RowShape& shape : rows(number, 0, 4).shapes)
      targets += static_cast<double>(shape.num_targets);
    for (std::int64_t first = 0; first < 4; first += micro) {
      const test::TextBatchParts batch = rows(number, first, micro);
      const at::Tensor sum = network_->loss_sum(batch.input()) / targets;
      sum.backward();
      loss += sum.item<double>();
    }
    for (const NamedTensor& parameter : network_->parameters())
      squares += parameter.tensor.grad().to(at::kDouble).square().sum().item<double>();
    update(rate, std::min(1.0, clip / (std::sqrt(squares) + 1e-6)));
    return {loss, std::sqrt(squares)};
  }

  Llama& network() { return *network_; }

 private:
  // AdamW with betas 0.9 and 0.999, epsilon 1e-8 and weight decay 0.01.
  void update(double rate, double factor) {
    const at::NoGradGuard no_grad;
    ++num_updates_;
    for (std::size_t i = 0; i < network_->parameters().size(); ++i) {
      at::Tensor parameter = network_->parameters()[i].tensor;
      if (first_.size() <= i) {
        first_.push_back(at::zeros_like(parameter));
        second_.push_back(at::zeros_like(parameter));
      }
      const at::Tensor gradient = parameter.grad() * factor;
      parameter.mul_(1 - rate * 0.01);
      first_[i].mul_(0.9).add_(gradient, 0.1);
      second_[i].mul_(0.999).add_(gradient.square(), 0.001);
      const at::Tensor deviation = second_[i].sqrt() / std::sqrt(1 - std::pow(0.999, num_updates_)) + 1e-8;
      parameter.sub_(first_[i] / deviation * (rate / (1 - std::pow(0.9, num_updates_))));
    }
  }

  std::unique_ptr<Llama> network_;
  TensorFile batches_;
  std::vector<at::Tensor> first_, second_;
  int num_updates_ = 0;
};

struct Tolerance {
  double loss, norm, adapter;
};

void expect_adapter(const Llama& network, const nlohmann::json& expected, double tolerance) {
  for (const NamedTensor& adapter : network.adapters()) {
    std::string name = adapter.name;
    name.insert(name.rfind(".weight"), ".default");
    const nlohmann::json& summary = expected.at(name);
    const at::Tensor values = adapter.tensor.detach().to(at::kDouble).flatten();
    EXPECT_NEAR(values.norm().item<double>(), summary.at("l2").get<double>(), tolerance) << name;
    for (std::int64_t i = 0; i < 4; ++i)
      EXPECT_NEAR(values[i].item<double>(), summary.at("first")[static_cast<std::size_t>(i)].get<double>(), tolerance)
          << name;
  }
}

void expect_run(const std::string& variant, at::ScalarType dtype, std::int64_t micro, double clip,
                const Tolerance& tolerance) {
  const nlohmann::json expected = json_of(std::string(kLora) + "oracle.json").at(variant);
  AdapterRun run(dtype);
  for (std::size_t step = 0; step < expected.at("loss").size(); ++step) {
    const AdapterRun::Step found =
        run.step(static_cast<std::int64_t>(step), expected.at("lr")[step].get<double>(), clip, micro);
    ASSERT_NEAR(found.loss, expected.at("loss")[step].get<double>(), tolerance.loss) << variant << " step " << step;
    ASSERT_NEAR(found.norm, expected.at("grad_norm")[step].get<double>(), tolerance.norm)
        << variant << " step " << step;
  }
  expect_adapter(run.network(), expected.at("final_adapter"), tolerance.adapter);
}

// The reference's float64 runs are good to about 1e-6 themselves.
constexpr Tolerance kDoubleTolerance{1e-5, 1e-5, 2e-5}, kFloatTolerance{5e-5, 5e-5, 1e-4};

TEST(AdapterTraining, FollowsPeftInFloat64) {
  expect_run("float64", at::kDouble, 4, 1.0, kDoubleTolerance);
}

TEST(AdapterTraining, FollowsPeftInFloat32) {
  expect_run("float32", at::kFloat, 4, 1.0, kFloatTolerance);
}

TEST(AdapterTraining, FollowsPeftWithAccumulation) {
  expect_run("float64_accumulate_2x2", at::kDouble, 2, 1.0, kDoubleTolerance);
}

TEST(AdapterTraining, FollowsPeftWithTightClipping) {
  expect_run("float64_clip_0.3", at::kDouble, 4, 0.3, kDoubleTolerance);
}

// Logits of the real tokens of the first batch.
void expect_logits(AdapterRun& run, const nlohmann::json& expected, double tolerance) {
  const test::TextBatchParts batch = run.rows(0, 0, 4);
  for (std::size_t row = 0; row < 4; ++row) {
    const auto index = static_cast<std::int64_t>(row);
    const std::int64_t length = batch.shapes[row].num_tokens();
    const at::Tensor tokens = batch.tokens.narrow(0, index, 1).narrow(1, 0, length);
    const at::Tensor logits = run.network().logits(tokens).squeeze(0).to(at::kDouble), last = logits.select(0, -1);
    EXPECT_NEAR(last.logsumexp({0}).item<double>(), expected[row].at("last_logsumexp").get<double>(), tolerance);
    EXPECT_NEAR(logits.norm().item<double>(), expected[row].at("l2").get<double>(), 100 * tolerance);
    for (const auto& entry : expected[row].at("last_top10"))
      EXPECT_NEAR(last[entry[0].get<std::int64_t>()].item<double>(), entry[1].get<double>(), tolerance);
  }
}

TEST(AdapterTraining, GivesTheLogitsOfPeft) {
  const nlohmann::json expected = json_of(std::string(kLora) + "oracle.json").at("float64");
  AdapterRun run(at::kDouble);

  expect_logits(run, expected.at("logits_batch0_before"), 1e-5);
  run.load_adapter("adapter_final/adapter_model.safetensors");

  expect_logits(run, expected.at("logits_batch0_after"), 1e-4);
}

TEST(AdapterTraining, MergesAsPeftDoes) {
  const nlohmann::json expected = json_of(std::string(kLora) + "oracle.json").at("merged_float32");
  AdapterRun run(at::kFloat);
  run.load_adapter("adapter_final/adapter_model.safetensors");

  run.network().merge_adapters();

  EXPECT_TRUE(run.network().adapters().empty());
  expect_logits(run, expected.at("logits_batch0"), 1e-4);
}

}  // namespace
}  // namespace multicard
