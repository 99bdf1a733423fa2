#include "state/MergedWeights.hpp"

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "state/TensorProblems.hpp"

namespace multicard {

namespace {

const std::string kWeight = ".weight";

std::string layer_of(const std::string& weight) {
  return weight.substr(0, weight.size() - kWeight.size());
}

}  // namespace

MergedWeights::MergedWeights(const ModelFolder& base, const PeftAdapter& adapter, OutputLayer output, BaseChange change)
    : base_(base), adapter_(adapter), output_(output), change_(std::move(change)) {
  for (const std::string& layer : adapter.layers()) {
    const std::string name = layer + kWeight;
    const std::optional<std::string> stored = base.stored_name(name, output);
    if (!stored)
      throw DataError(fmt::format("{} adapts {}, which {} does not have", adapter.path(), layer, base.path()), "",
                      "Check that the adapter was made for this model.");
    if (output == OutputLayer::tied && layer == "lm_head")
      throw DataError(fmt::format("the adapter {} of lm_head cannot be merged", adapter.path()),
                      "its weights are those of the embeddings");
    const std::int64_t out = adapter.file().view(PeftAdapter::b_name(layer)).size(0);
    const std::int64_t in = adapter.file().view(PeftAdapter::a_name(layer)).size(1);
    refuse_shape(adapter.path(), layer, {out, in}, base.view(*stored).sizes(),
                 "Check that the adapter was made for this model.");
    adapted_.insert(name);
  }
}

at::Tensor MergedWeights::weight(const std::string& name, at::ScalarType dtype) const {
  const at::NoGradGuard no_grad;
  const std::string stored = base_.stored_name(name, output_).value_or(name);
  const at::Tensor plain = change_ ? change_(name, base_.view(stored)) : base_.view(stored);
  at::Tensor merged;
  if (adapted_.contains(name)) {
    const at::Tensor a = adapter_.file().view(PeftAdapter::a_name(layer_of(name)));
    const at::Tensor b = adapter_.file().view(PeftAdapter::b_name(layer_of(name)));
    const bool is_double = plain.scalar_type() == at::kDouble || a.scalar_type() == at::kDouble;
    const at::ScalarType sum = is_double ? at::kDouble : at::kFloat;
    merged = plain.to(sum).addmm(b.to(sum), a.to(sum), 1, adapter_.config().scaling()).to(dtype);
  } else {
    merged = plain.to(dtype, false, true);  // a copy even in the same dtype
  }
  base_.give_back(stored);
  return merged;
}

}  // namespace multicard
