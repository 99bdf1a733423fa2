#include "nn/vision/Network.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fnmatch.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "device/StagedCopies.hpp"
#include "nn/layers/Random.hpp"
#include "profiler/BlockScope.hpp"

namespace multicard {
namespace {

bool matches(const std::string& name, const std::string& pattern) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

at::Tensor initial_values(at::IntArrayRef sizes, const Initial& initial, std::uint64_t seed, std::uint64_t stream) {
  switch (initial.distribution) {
    case Initial::Distribution::normal:
      return normal_values(sizes, initial.value, seed, stream);
    case Initial::Distribution::uniform:
      return uniform_values(sizes, initial.value, seed, stream);
    case Initial::Distribution::constant:
      break;
  }
  return at::full(sizes, initial.value, at::TensorOptions().dtype(at::kFloat));
}

std::vector<at::Tensor> trained_ones(std::vector<at::Tensor> weights) {
  std::erase_if(weights, [](const at::Tensor& weight) { return !weight.requires_grad(); });
  return weights;
}

[[noreturn]] void refuse_pattern(const std::string& pattern, const NamedTensors& parameters) {
  std::set<std::string> known;
  for (const NamedTensor& parameter : parameters) {
    known.insert(parameter.name);
    for (std::size_t dot = 0; (dot = parameter.name.find('.', dot)) != std::string::npos; ++dot)
      known.insert(parameter.name.substr(0, dot) + ".*");
  }
  const auto near = nearest(pattern, {known.begin(), known.end()});
  throw UsageError("model.freeze: \"" + pattern + "\" matches no trained parameter",
                   "they are named like " + parameters.front().name + " and " + parameters.back().name,
                   near ? "Did you mean " + *near + "?" : "");
}

}  // namespace

std::int64_t Network::num_parameters() const {
  std::int64_t count = 0;
  for (const NamedTensor& parameter : parameters_)
    count += parameter.tensor.numel();
  return count;
}

// Nothing is changed before all patterns are known to match.
void Network::freeze(const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns)
    if (std::none_of(parameters_.begin(), parameters_.end(), [&](const auto& p) { return matches(p.name, pattern); }))
      refuse_pattern(pattern, parameters_);
  NamedTensors trained, frozen;
  for (const NamedTensor& parameter : parameters_) {
    const bool is_frozen = std::any_of(patterns.begin(), patterns.end(),
                                       [&](const std::string& pattern) { return matches(parameter.name, pattern); });
    (is_frozen ? frozen : trained).push_back(parameter);
  }
  if (trained.empty()) throw UsageError("model.freeze leaves nothing to train", join(patterns, ", "));
  for (NamedTensor& parameter : frozen) {
    parameter.tensor.mutable_grad().reset();
    parameter.tensor.requires_grad_(false);
  }
  parameters_ = std::move(trained);
}

std::vector<std::vector<at::Tensor>> Network::block_weights() const {
  std::vector<std::vector<at::Tensor>> blocks;
  for (const std::vector<at::Tensor>& weights : marked_)
    if (std::vector<at::Tensor> trained = trained_ones(weights); !trained.empty()) blocks.push_back(std::move(trained));
  return blocks;
}

void Network::set_block_hooks(std::shared_ptr<BlockHooks> hooks) {
  hooks_ = std::move(hooks);
  numbers_.clear();
  std::int64_t number = 0;
  for (const std::vector<at::Tensor>& weights : marked_)
    numbers_.push_back(trained_ones(weights).empty() ? kNone : number++);
}

std::size_t Network::mark_block(std::vector<at::Tensor> weights) {
  marked_.push_back(std::move(weights));
  return marked_.size() - 1;
}

at::Tensor Network::in_block(std::size_t block, at::Tensor x,
                             c10::function_ref<at::Tensor(const at::Tensor&)> body) const {
  const std::int64_t number = hooks_ ? numbers_[block] : kNone;
  if (number == kNone) return body(x);
  // Backward ends a block where its input needs a gradient: also the lowest one, of which all below is frozen.
  if (at::GradMode::is_enabled() && !x.requires_grad()) x = x.detach().requires_grad_(true);
  const BlockPass pass(hooks_.get());
  pass.enter(number, x);
  at::Tensor y = body(x);
  pass.leave(number, y);
  return y;
}

// set_data() exchanges the memory of the tensors: those that layers, parameters() and buffers() hold stay the same
// objects.
void Network::to(at::Device device, at::ScalarType dtype, at::MemoryFormat layout) {
  StagedCopies copies;
  for (const NamedTensor& entry : state_) {
    at::Tensor tensor = entry.tensor;
    if (!tensor.is_floating_point()) continue;
    const at::MemoryFormat format = tensor.dim() == 4 ? layout : at::MemoryFormat::Contiguous;
    const at::Tensor moved =
        at::empty(tensor.sizes(), at::TensorOptions().dtype(dtype).device(device).memory_format(format));
    copies.copy(moved, tensor.detach());
    tensor.mutable_grad().reset();
    tensor.set_data(moved);
  }
  copies.finish();
}

at::Tensor Network::add_parameter(const std::string& name, at::IntArrayRef sizes, const Initial& initial) {
  // The place in the state dictionary is the stream: weights are equal on every rank, and do not depend on the device.
  at::Tensor value = initial_values(sizes, initial, seed_, state_.size());
  value.requires_grad_(true);
  parameters_.push_back({name, value});
  state_.push_back({name, value});
  return value;
}

at::Tensor Network::add_buffer(const std::string& name, at::Tensor value) {
  buffers_.push_back({name, value});
  state_.push_back({name, value});
  return value;
}

NormTensors Network::add_norm(const std::string& name, std::int64_t num_channels) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  NormTensors norm;
  norm.weight = add_parameter(name + ".weight", {num_channels}, {.value = 1.0});
  norm.bias = add_parameter(name + ".bias", {num_channels}, {.value = 0.0});
  norm.running_mean = add_buffer(name + ".running_mean", at::zeros({num_channels}, options));
  norm.running_var = add_buffer(name + ".running_var", at::ones({num_channels}, options));
  norm.num_batches_tracked = add_buffer(name + ".num_batches_tracked", at::zeros({}, options.dtype(at::kLong)));
  return norm;
}

ConvNorm Network::add_conv_norm(const std::string& convolution, const std::string& norm, const Convolution& shape) {
  const std::int64_t fan_out = shape.out * shape.kernel * shape.kernel;
  ConvNorm layer{.convolution = shape, .weight = {}, .norm = {}};
  layer.weight =
      add_parameter(convolution + ".weight", {shape.out, shape.in / shape.groups, shape.kernel, shape.kernel},
                    {Initial::Distribution::normal, std::sqrt(2.0 / static_cast<double>(fan_out))});
  layer.norm = add_norm(norm, shape.out);
  return layer;
}

void Network::add_classifier(const std::string& name, std::int64_t num_features, std::int64_t num_classes,
                             const Initial& weight, const Initial& bias, double dropout) {
  classifier_names_ = {name + ".weight", name + ".bias"};
  classifier_.weight = add_parameter(classifier_names_[0], {num_classes, num_features}, weight);
  classifier_.bias = add_parameter(classifier_names_[1], {num_classes}, bias);
  dropout_ = dropout;
}

at::Tensor Network::forward_stem(const ConvNorm& stem, const at::Tensor& images_NCHW, Activation activation) const {
  const BlockScope scope("stem");
  return stem.forward(images_NCHW, norm_context(), activation);
}

at::Tensor Network::classify(const at::Tensor& features_NCHW) const {
  at::Tensor x = features_NCHW.mean({2, 3});
  if (mode() == Mode::train && dropout_ > 0) x = seeded_dropout(x, dropout_, dropout_seed_);
  return classifier_.forward(x);
}

}  // namespace multicard
