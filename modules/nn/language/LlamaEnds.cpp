#include "nn/language/LlamaEnds.hpp"

#include <algorithm>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "state/PeftAdapter.hpp"

namespace multicard {

namespace {

constexpr const char* kEmbedding = "model.embed_tokens";
constexpr const char* kNorm = "model.norm";
constexpr const char* kHead = "lm_head";

std::string weight_of(const std::string& module) {
  return module + ".weight";
}

NamedTensors copy_of(const std::string& module, const SavableWeight& weight) {
  if (!weight.copy().defined()) return {};
  return {{PeftAdapter::saved_name(weight_of(module)), weight.copy()}};
}

}  // namespace

LlamaEnds::LlamaEnds(const LlamaConfig& config, const at::TensorOptions& options)
    : is_tied(config.has_tied_embeddings) {
  embedding = at::empty({config.vocabulary_size, config.hidden_size}, options).requires_grad_(true);
  norm = at::empty({config.hidden_size}, options).requires_grad_(true);
  // The same tensor twice: its gradient is the sum of what both uses give.
  if (is_tied) head = embedding.own();
}

void LlamaEnds::add_head() {
  if (!is_tied) head = at::empty_like(embedding.own()).requires_grad_(true);
}

NamedTensors LlamaEnds::embedding_weights() const {
  return {{weight_of(kEmbedding), embedding.own()}};
}

NamedTensors LlamaEnds::head_weights() const {
  NamedTensors weights{{weight_of(kNorm), norm.own()}};
  if (!is_tied) weights.push_back({weight_of(kHead), head.own()});
  return weights;
}

std::vector<std::string> LlamaEnds::modules() {
  return {kEmbedding, kNorm, kHead};
}

void LlamaEnds::save(const std::vector<std::string>& modules, at::ScalarType dtype) {
  for (auto [name, weight] : {std::pair(kEmbedding, &embedding), std::pair(kNorm, &norm), std::pair(kHead, &head)}) {
    weight->freeze();
    if (std::find(modules.begin(), modules.end(), name) != modules.end()) weight->save(dtype);
  }
}

NamedTensors LlamaEnds::saved_embedding() const {
  return copy_of(kEmbedding, embedding);
}

NamedTensors LlamaEnds::saved_head() const {
  NamedTensors saved = copy_of(kNorm, norm);
  for (const NamedTensor& entry : copy_of(kHead, head))
    saved.push_back(entry);
  return saved;
}

// A merged copy of one side must not reach the other through shared memory: the head gets memory of its own first.
void LlamaEnds::merge() {
  if (is_tied && (embedding.copy().defined() || head.copy().defined())) {
    head.separate();
    is_tied = false;
  }
  for (SavableWeight* weight : {&embedding, &norm, &head})
    weight->merge();
}

}  // namespace multicard
