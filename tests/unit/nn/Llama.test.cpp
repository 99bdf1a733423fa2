// The network against its definition written down with plain operations.
#include "nn/language/Llama.hpp"

#include <map>

#include <ATen/core/Reduction.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "language_models.hpp"
#include "nn/language/Rope.hpp"

namespace multicard {
namespace {

using test::gradients;
using test::largest;
using test::random_batch;
using test::small_config;
using test::small_network;

// Sequence by sequence, head by head, with a mask; differentiable.
class Reference {
 public:
  Reference(const Llama& network, double scaling) : config_(network.config()), scaling_(scaling) {
    for (const NamedTensors& tensors : {network.weights(), network.adapters()})
      for (const NamedTensor& entry : tensors)
        tensors_[entry.name] = entry.tensor;
  }

  at::Tensor loss(const TextInput& input) const {
    at::Tensor total = at::zeros({}, at::kDouble);
    for (std::size_t row = 0; row < input.shapes.size(); ++row) {
      std::int64_t first = 0;
      for (const std::int64_t length : input.shapes[row].lengths) {
        const auto part = [&](const at::Tensor& x) {
          return x.select(0, static_cast<std::int64_t>(row)).narrow(0, first, length);
        };
        total = total + at::cross_entropy_loss(logits(part(input.tokens)), part(input.targets), {}, at::Reduction::Sum);
        first += length;
      }
    }
    return total;
  }

  at::Tensor logits(const at::Tensor& tokens) const {
    at::Tensor x = at::embedding(tensors_.at("model.embed_tokens.weight"), tokens);
    for (std::int64_t layer = 0; layer < config_.num_layers; ++layer) {
      const std::string name = "model.layers." + std::to_string(layer) + ".";
      x = x + attention(norm(x, name + "input_layernorm"), name + "self_attn.", config_.window(layer));
      const at::Tensor y = norm(x, name + "post_attention_layernorm");
      x = x +
          linear(at::silu(linear(y, name + "mlp.gate_proj")) * linear(y, name + "mlp.up_proj"), name + "mlp.down_proj");
    }
    const char* head = config_.has_tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
    return norm(x, "model.norm").matmul(tensors_.at(head).t());
  }

 private:
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    return x * (x.square().mean({1}, true) + config_.norm_epsilon).rsqrt() * tensors_.at(name + ".weight");
  }

  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    at::Tensor y = x.matmul(tensors_.at(name + ".weight").t());
    if (tensors_.contains(name + ".bias")) y = y + tensors_.at(name + ".bias");
    const std::string adapter = "base_model.model." + name + ".lora_";
    if (!tensors_.contains(adapter + "A.weight")) return y;
    const at::Tensor low = x.matmul(tensors_.at(adapter + "A.weight").t());
    return y + scaling_ * low.matmul(tensors_.at(adapter + "B.weight").t());
  }

  // One head [tokens, head_dim].
  at::Tensor turned(const at::Tensor& x) const {
    const RopeTable table = rope_table(config_, x.size(0), at::kDouble, at::kCPU);
    const auto halves = x.chunk(2, 1);
    return at::cat({halves[0] * table.cos - halves[1] * table.sin, halves[1] * table.cos + halves[0] * table.sin}, 1);
  }

  at::Tensor attention(const at::Tensor& x, const std::string& name, std::int64_t window) const {
    const auto q = linear(x, name + "q_proj").split(config_.head_dim, 1);
    const auto k = linear(x, name + "k_proj").split(config_.head_dim, 1);
    const auto v = linear(x, name + "v_proj").split(config_.head_dim, 1);
    const at::Tensor at_query = at::arange(x.size(0)).unsqueeze(1), at_key = at::arange(x.size(0));
    at::Tensor hidden = at_key > at_query;
    if (window > 0) hidden = hidden | (at_key <= at_query - window);
    std::vector<at::Tensor> heads;
    for (std::size_t head = 0; head < q.size(); ++head) {
      const std::size_t shared = head / (q.size() / k.size());
      const at::Tensor scores = turned(q[head]).matmul(turned(k[shared]).t()) / std::sqrt(config_.head_dim);
      heads.push_back(
          scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()).softmax(1).matmul(v[shared]));
    }
    return linear(at::cat(heads, 1), name + "o_proj");
  }

  const LlamaConfig& config_;
  double scaling_;
  std::map<std::string, at::Tensor> tensors_;
};

// Packed rows of different fill, a row with one sequence, one that is full; some positions without target.
test::TextBatchParts mixed_batch(std::int64_t vocabulary = small_config().vocabulary_size) {
  return random_batch({{5, 9, 2}, {17}, {1, 12}, {20}}, 20, vocabulary, 0.7);
}

void expect_reference(Llama& network, double scaling = 1.0) {
  const test::TextBatchParts batch = mixed_batch();
  test::clear_gradients(network);
  const at::Tensor expected = Reference(network, scaling).loss(batch.input());
  expected.backward();
  std::vector<at::Tensor> expected_gradients;
  for (const NamedTensor& parameter : network.parameters())
    expected_gradients.push_back(parameter.tensor.grad().clone());

  double loss = 0;
  const std::vector<at::Tensor> found = gradients(network, batch.input(), &loss);

  // Angles of the reference are the network's, so that nothing but the order of sums differs.
  EXPECT_NEAR(loss, expected.item<double>(), 1e-10 * loss);
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_LT(largest(found[i] - expected_gradients[i]), 1e-9 * (1 + largest(expected_gradients[i])))
        << network.parameters()[i].name;
}

TEST(Llama, IsItsDefinitionWithAllGradients) {
  expect_reference(*small_network());
}

TEST(Llama, IsItsDefinitionWithTiedEmbeddings) {
  LlamaConfig config = small_config();
  config.has_tied_embeddings = true;
  const auto network = small_network(config);

  expect_reference(*network);
  EXPECT_EQ(network->weights().back().name, "model.norm.weight");
}

TEST(Llama, IsItsDefinitionWithBiases) {
  LlamaConfig config = small_config();
  config.has_qkv_bias = config.has_output_bias = config.has_mlp_bias = true;
  const auto network = small_network(config);
  const at::NoGradGuard no_grad;
  for (const NamedTensor& weight : network->weights())
    if (weight.name.ends_with("bias"))
      at::Tensor(weight.tensor).copy_(uniform_values(weight.tensor.sizes(), 0.3, 1, 1));
  const at::AutoGradMode records(true);

  expect_reference(*network);
}

TEST(Llama, IsItsDefinitionWithWindowsAndHeadsOfTheirOwn) {
  LlamaConfig config = small_config();
  config.windows = {4, 0, 7};
  config.num_kv_heads = 4;
  expect_reference(*small_network(config));
  config.num_kv_heads = 1;
  expect_reference(*small_network(config));
}

TEST(Llama, IsItsDefinitionWithAdapters) {
  const auto network = small_network();
  network->add_adapters({.settings = {.rank = 3, .alpha = 5}, .dtype = at::kDouble});
  test::fill_adapters(*network);

  EXPECT_EQ(network->parameters().size(), 2U * 7 * 3);
  expect_reference(*network, 5.0 / 3);
}

TEST(Llama, IsItsDefinitionWithSomeAdapters) {
  const auto network = small_network();
  network->add_adapters({.settings = {.rank = 2,
                                      .alpha = 4,
                                      .rslora = true,
                                      .targets = {"self_attn.v_proj", "layers.1.mlp.up_proj", "down_proj"}},
                         .dtype = at::kDouble});
  test::fill_adapters(*network);

  EXPECT_EQ(network->parameters().size(), 2U * (3 + 1 + 3));
  expect_reference(*network, 4.0 / std::sqrt(2.0));
}

TEST(Llama, CountsItsWeights) {
  LlamaConfig config = small_config();
  config.has_qkv_bias = config.has_mlp_bias = true;
  std::int64_t count = 0;
  const auto network = small_network(config);
  for (const NamedTensor& weight : network->weights())
    count += weight.tensor.numel();
  EXPECT_EQ(count, config.num_parameters());
}

TEST(Llama, GivesPackedSequencesWhatTheyGetAlone) {
  const auto network = small_network();
  const test::TextBatchParts packed = mixed_batch();
  const at::Tensor found = network->sequence_losses(packed.input()).sums;
  std::vector<at::Tensor> total;

  std::int64_t number = 0;
  for (std::size_t row = 0; row < packed.shapes.size(); ++row) {
    std::int64_t first = 0;
    for (const std::int64_t length : packed.shapes[row].lengths) {
      const auto part = [&](const at::Tensor& x) {
        return x.narrow(0, static_cast<std::int64_t>(row), 1).narrow(1, first, length).contiguous();
      };
      test::TextBatchParts alone{part(packed.tokens), part(packed.targets), {}};
      alone.shapes.push_back({{length}, (alone.targets >= 0).sum().item<std::int64_t>()});
      double loss = 0;
      const std::vector<at::Tensor> part_gradients = gradients(*network, alone.input(), &loss);
      EXPECT_NEAR(found[number++].item<double>(), loss, 1e-10 * (1 + loss));
      for (std::size_t i = 0; i < part_gradients.size(); ++i)
        i < total.size() ? void(total[i] += part_gradients[i]) : total.push_back(part_gradients[i]);
      first += length;
    }
  }
  EXPECT_EQ(number, found.numel());

  double loss = 0;
  const std::vector<at::Tensor> together = gradients(*network, packed.input(), &loss);
  EXPECT_NEAR(loss, found.sum().item<double>(), 1e-10 * loss);
  for (std::size_t i = 0; i < together.size(); ++i)
    EXPECT_LT(largest(together[i] - total[i]), 1e-9 * (1 + largest(total[i]))) << network->parameters()[i].name;
}

TEST(Llama, DoesNotLookAtPadding) {
  const auto network = small_network();
  const test::TextBatchParts batch = mixed_batch();
  const at::Tensor before = network->sequence_losses(batch.input()).sums;

  for (std::size_t row = 0; row < batch.shapes.size(); ++row) {
    const std::int64_t tokens = batch.shapes[row].num_tokens();
    batch.tokens.select(0, static_cast<std::int64_t>(row)).narrow(0, tokens, 20 - tokens).fill_(36);
  }

  EXPECT_TRUE(at::equal(network->sequence_losses(batch.input()).sums, before));
}

TEST(Llama, ReadsOnWhereItsCacheEnds) {
  LlamaConfig config = small_config();
  config.windows = {0, 6, 0};
  const auto network = small_network(config);
  const at::Tensor tokens = at::randint(37, {300}, at::kLong);
  const at::Tensor expected = network->logits(tokens.unsqueeze(0)).squeeze(0);

  KvCache cache;
  std::int64_t read = 0;
  for (const std::int64_t count : {4, 1, 1, 3, 1, 260, 1, 29}) {
    const std::vector<Continued> one{{&cache, count}};
    const at::Tensor found = network->next_logits(tokens.narrow(0, read, count), one).squeeze(0);
    read += count;
    EXPECT_EQ(cache.num_tokens(), read);
    EXPECT_LT(largest(found - expected[read - 1]), 1e-10);
  }
}

TEST(Llama, ReadsSeveralSequencesOnAtOnce) {
  LlamaConfig config = small_config();
  config.windows = {0, 6, 0};
  const auto network = small_network(config);
  const at::Tensor tokens = at::randint(37, {3, 20}, at::kLong);
  const at::Tensor expected = network->logits(tokens);

  KvCache caches[3];
  for (const std::vector<std::int64_t>& counts : {std::vector<std::int64_t>{4, 1, 9}, {1, 3, 1}, {1, 1, 8}}) {
    std::vector<Continued> sequences;
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < 3; ++i) {
      sequences.push_back({&caches[i], counts[i]});
      parts.push_back(tokens[static_cast<std::int64_t>(i)].narrow(0, caches[i].num_tokens(), counts[i]));
    }
    const at::Tensor found = network->next_logits(at::cat(parts), sequences);
    for (std::int64_t i = 0; i < 3; ++i)
      EXPECT_LT(largest(found[i] - expected[i][caches[i].num_tokens() - 1]), 1e-10);
  }
}

TEST(Llama, OfNoTargetHasZeroLossAndGradients) {
  const auto network = small_network();
  const test::TextBatchParts batch = random_batch({{4}, {6}}, 6, 37, 0.0);

  double loss = 1;
  for (const at::Tensor& gradient : gradients(*network, batch.input(), &loss))
    EXPECT_EQ(largest(gradient), 0.0);
  EXPECT_EQ(loss, 0.0);
}

TEST(Llama, RefusesRowsThatDoNotFit) {
  const auto network = small_network();
  test::TextBatchParts batch = random_batch({{4}, {6}}, 6, 37);
  batch.shapes[1].lengths.push_back(1);
  EXPECT_THROW(network->loss_sum(batch.input()), DataError);
  batch.shapes.pop_back();
  EXPECT_THROW(network->loss_sum(batch.input()), DataError);
}

}  // namespace
}  // namespace multicard
