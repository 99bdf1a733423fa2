#pragma once
// Language models and batches that tests share.

#include <cmath>
#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/randint.h>
#include <nlohmann/json.hpp>

#include "nn/language/Llama.hpp"
#include "nn/layers/Random.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard::test {

inline nlohmann::json json_of(const std::string& file) {
  return nlohmann::json::parse(std::ifstream(source_path("tests/data/" + file)));
}

// Every feature that changes shapes: shared keys, head_dim that is not hidden / heads, an own output layer.
inline LlamaConfig small_config() {
  LlamaConfig config;
  config.vocabulary_size = 37;
  config.hidden_size = 24;
  config.intermediate_size = 40;
  config.num_layers = 3;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 8;
  config.initializer_range = 0.2;
  return config;
}

inline std::unique_ptr<Llama> small_network(const LlamaConfig& config = small_config(),
                                            at::ScalarType dtype = at::kDouble) {
  auto network = std::make_unique<Llama>(config, dtype, at::kCPU);
  network->initialise(5);
  return network;
}

// B is zero in fresh adapters: give it values, so that A gets gradients too.
inline void fill_adapters(const Llama& network, double deviation = 0.1) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < network.adapters().size(); ++i) {
    at::Tensor adapter = network.adapters()[i].tensor;
    fill_normal(adapter, deviation, 77, i);
  }
}

// The network that stories are written with.
inline std::unique_ptr<Llama> story_network(at::ScalarType dtype, WeightFormat format = {}) {
  const std::string folder = source_path("tests/data/models/tinystories-656K").string();
  auto network = std::make_unique<Llama>(LlamaConfig::read(folder), dtype, at::kCPU, format);
  const TensorFile file(folder + "/model.safetensors");
  const at::NoGradGuard no_grad;
  for (const NamedTensor& weight : network->weights()) {
    const bool is_embedding = weight.name == "model.embed_tokens.weight";
    at::Tensor(weight.tensor).copy_(file.view(is_embedding ? "lm_head.weight" : weight.name));
  }
  return network;
}

struct TextBatchParts {
  at::Tensor tokens, targets;
  std::vector<RowShape> shapes;

  TextInput input() const { return {tokens, targets, shapes}; }
};

// Rows of random tokens whose sequences have these lengths; what is left of the width is padding. Of each sequence's
// positions but the last about `share` predict the next token.
inline TextBatchParts random_batch(const std::vector<std::vector<std::int64_t>>& lengths, std::int64_t width,
                                   std::int64_t vocabulary, double share = 1.0) {
  const auto rows = static_cast<std::int64_t>(lengths.size());
  TextBatchParts batch{at::randint(vocabulary, {rows, width}, at::kLong), at::full({rows, width}, -100, at::kLong), {}};
  auto tokens = batch.tokens.accessor<std::int64_t, 2>();
  auto targets = batch.targets.accessor<std::int64_t, 2>();
  std::uint64_t draw = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    RowShape shape{lengths[static_cast<std::size_t>(row)], 0};
    std::int64_t first = 0;
    for (const std::int64_t length : shape.lengths) {
      for (std::int64_t i = first; i + 1 < first + length; ++i) {
        if (uniform_value(9, draw++) > share) continue;
        targets[row][i] = tokens[row][i + 1];
        ++shape.num_targets;
      }
      first += length;
    }
    batch.shapes.push_back(shape);
  }
  return batch;
}

// Some of the 4 rows of a step of an oracle. Its file's labels stand at the tokens themselves, -100 in the prompt
// and in padding.
inline TextBatchParts oracle_rows(const TensorFile& batches, std::int64_t step, std::int64_t first = 0,
                                  std::int64_t count = 4) {
  const auto part = [&](const char* name) { return batches.view(name).select(0, step).narrow(0, first, count); };
  TextBatchParts batch;
  batch.tokens = part("input_ids").clone();
  batch.targets = at::full_like(batch.tokens, -100);
  const std::int64_t width = batch.tokens.size(1);
  batch.targets.narrow(1, 0, width - 1).copy_(part("labels").narrow(1, 1, width - 1));
  const at::Tensor lengths = part("attention_mask").sum({1}), counts = (batch.targets >= 0).sum({1});
  for (std::int64_t row = 0; row < count; ++row)
    batch.shapes.push_back({{lengths[row].item<std::int64_t>()}, counts[row].item<std::int64_t>()});
  return batch;
}

inline void clear_gradients(const Llama& network) {
  for (const NamedTensor& parameter : network.parameters())
    at::Tensor(parameter.tensor).mutable_grad().reset();
}

// Gradients of the loss of a batch, in the order of parameters().
inline std::vector<at::Tensor> gradients(Llama& network, const TextInput& input, double* loss = nullptr) {
  clear_gradients(network);
  const at::Tensor sum = network.loss_sum(input);
  sum.backward();
  if (loss) *loss = sum.item<double>();
  std::vector<at::Tensor> result;
  for (const NamedTensor& parameter : network.parameters())
    result.push_back(parameter.tensor.grad().clone());
  return result;
}

inline double largest(const at::Tensor& tensor) {
  return tensor.detach().abs().max().item<double>();
}

}  // namespace multicard::test
