#include "state/MergedWeights.hpp"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "state/TensorProblems.hpp"

namespace multicard {

namespace {

const std::string kWeight = ".weight";
const std::string kEmbeddings = "model.embed_tokens.weight";
const std::string kHead = "lm_head.weight";
constexpr const char* kOtherModel = "Check that the adapter was made for this model.";

std::string layer_of(const std::string& weight) {
  return weight.substr(0, weight.size() - kWeight.size());
}

}  // namespace

MergedWeights::MergedWeights(const ModelFolder& base, const PeftAdapter& adapter, OutputLayer output,
                             const NameMatcher& matcher, BaseChange change)
    : base_(base), adapter_(adapter), output_(output), change_(std::move(change)) {
  add_adapted(matcher);
  add_saved();
}

void MergedWeights::add_adapted(const NameMatcher& matcher) {
  // All layers are checked before the first weight is merged: a model of many GB must not fail at its last shard.
  const AdapterConfig& config = adapter_.config();
  const std::vector<std::string> layers = adapter_.layers();
  const std::vector<LayerAdapter> adapters = config.settings.patterns.apply(config.settings.common(), layers, matcher);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string& layer = layers[i];
    const std::string name = layer + kWeight;
    const std::optional<std::string> stored = stored_name(name);
    if (!stored)
      throw DataError(fmt::format("{} adapts {}, which {} does not have", adapter_.path(), layer, base_.path()), "",
                      kOtherModel);
    // Merging would change the embeddings with it, which the adapter did not train.
    if (output_ == OutputLayer::tied && layer == "lm_head")
      throw DataError(fmt::format("the adapter {} of lm_head cannot be merged", adapter_.path()),
                      "its weights are those of the embeddings");
    const std::vector<std::int64_t> a = adapter_.file().view(PeftAdapter::a_name(layer)).sizes().vec();
    const std::int64_t out = adapter_.file().view(PeftAdapter::b_name(layer)).size(0);
    if (a[0] != adapters[i].rank)
      throw DataError(fmt::format("{}: the adapter of {} has rank {}", adapter_.path(), layer, a[0]),
                      fmt::format("its configuration says {}", adapters[i].rank));
    refuse_shape(adapter_.path(), layer, {out, a[1]}, base_.view(*stored).sizes(), kOtherModel);
    adapted_[name] = adapters[i].scaling(config.settings.rslora);
  }
}

void MergedWeights::add_saved() {
  for (const std::string& name : adapter_.saved_weights()) {
    const std::optional<std::string> stored = stored_name(name);
    if (!stored)
      throw DataError(fmt::format("{} holds {}, which {} does not have", adapter_.path(), name, base_.path()), "",
                      kOtherModel);
    refuse_shape(adapter_.path(), name, adapter_.file().view(PeftAdapter::saved_name(name)).sizes(),
                 base_.view(*stored).sizes(), kOtherModel);
    saved_.insert(name);
    saves_ends_ = saves_ends_ || name == kEmbeddings || name == kHead;
  }
}

std::optional<std::string> MergedWeights::stored_name(const std::string& name) const {
  const std::optional<std::string> stored = base_.stored_name(name, output_);
  return !stored && name == kHead && output_ == OutputLayer::tied ? base_.stored_name(kEmbeddings, output_) : stored;
}

std::vector<TensorHeader> MergedWeights::tensors() const {
  std::vector<TensorHeader> all = base_.model_tensors(output_);
  if (output() == output_) return all;
  const auto embeddings =
      std::find_if(all.begin(), all.end(), [](const TensorHeader& header) { return header.name == kEmbeddings; });
  // An adapter that has trained one side of tied embeddings ends the tie: the other side is the base's matrix.
  TensorHeader head = *embeddings;
  head.name = kHead;
  all.push_back(head);
  return all;
}

at::Tensor MergedWeights::weight(const std::string& name, at::ScalarType dtype) const {
  const at::NoGradGuard no_grad;
  if (saved_.contains(name)) return adapter_.file().view(PeftAdapter::saved_name(name)).to(dtype, false, true);
  const std::string stored = stored_name(name).value_or(name);
  const at::Tensor plain = change_ ? change_(name, base_.view(stored)) : base_.view(stored);
  at::Tensor merged;
  if (const auto adapted = adapted_.find(name); adapted != adapted_.end()) {
    const at::Tensor a = adapter_.file().view(PeftAdapter::a_name(layer_of(name)));
    const at::Tensor b = adapter_.file().view(PeftAdapter::b_name(layer_of(name)));
    // W + s B A, with W, A and B exact in the wider type: one rounding, to the type that is written.
    const bool is_double = plain.scalar_type() == at::kDouble || a.scalar_type() == at::kDouble;
    const at::ScalarType sum = is_double ? at::kDouble : at::kFloat;
    merged = plain.to(sum).addmm(b.to(sum), a.to(sum), 1, adapted->second).to(dtype);
  } else {
    merged = plain.to(dtype, false, true);  // a copy even in the same dtype
  }
  // One weight after the other, each read once: the process never holds more of the base than that.
  base_.give_back(stored);
  return merged;
}

}  // namespace multicard
