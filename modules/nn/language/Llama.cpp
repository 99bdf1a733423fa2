#include <algorithm>
#include <stdexcept>

#include <ATen/ops/empty.h>

#include "nn/language/Int4Weight.hpp"
#include "nn/language/LlamaImpl.hpp"
#include "nn/layers/InitialWeights.hpp"
#include "nn/losses/TokenLoss.hpp"

namespace multicard {

namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

BlockMatrices matrices_of(LlamaBlock& block) {
  BlockMatrices all;
  for (const LinearGroup* group : block.groups()) {
    append(all.multiplied, group->multiplied());
    append(all.kept, group->matrices());
  }
  return all;
}

}  // namespace

Llama::Impl::Impl(const LlamaConfig& shape, const at::TensorOptions& tensor_options, WeightFormat format,
                  const Splitting& splitting)
    : config(shape),
      options(tensor_options),
      compute(c10::typeMetaToScalarType(tensor_options.dtype())),
      ends(shape, tensor_options),
      splits_ends(splitting.ends == Ends::split),
      table(shape, tensor_options.device()) {
  check_group_size(config, format);
  const auto split_end = [&](const at::Tensor& weight, at::Tensor& copy) {
    if (splitting.copies) copy = at::empty(weight.sizes(), options.dtype(*splitting.copies));
    if (splitting.made) splitting.made({{copy.defined() ? copy : weight}, {weight}, true});
  };
  if (splits_ends) split_end(ends.embedding.own(), ends.embedding_copy);
  weights = ends.embedding_weights();
  for (std::int64_t number = 0; number < config.num_layers; ++number) {
    blocks.emplace_back(config, number, options, format);
    append(weights, blocks.back().weights());
    for (LinearGroup* group : blocks.back().groups())
      if (splitting.copies) group->multiply_copy(*splitting.copies);
    if (splitting.made) splitting.made(matrices_of(blocks.back()));
  }
  ends.add_head();
  if (splits_ends && !ends.is_tied) split_end(ends.head.own(), ends.head_copy);
  if (ends.is_tied) ends.head_copy = ends.embedding_copy;
  append(weights, ends.head_weights());
  parameters = weights;
  loss_chunk = automatic_chunk(ends.head.own());
}

Llama::Llama(const LlamaConfig& config, at::ScalarType weights_dtype, at::Device device, WeightFormat format,
             const Splitting& splitting)
    : impl_(
          std::make_unique<Impl>(config, at::TensorOptions().dtype(weights_dtype).device(device), format, splitting)) {}

std::int64_t Llama::Impl::deepest_in_backward() const {
  const NamedTensors embedding = adapters.empty() ? ends.embedding_weights() : ends.saved_embedding();
  if (!embedding.empty()) return 0;
  const auto first = std::find_if(blocks.begin(), blocks.end(), [](const LlamaBlock& block) {
    return !block.adapters().empty() || !block.saved().empty();
  });
  return first_layer() + (first - blocks.begin());
}

Llama::~Llama() = default;

const LlamaConfig& Llama::config() const {
  return impl_->config;
}

at::Device Llama::device() const {
  return impl_->options.device();
}

const NamedTensors& Llama::weights() const {
  return impl_->weights;
}

WeightSinks Llama::sinks() {
  WeightSinks all;
  impl_->for_each_group([&](LinearGroup& group) { append(all, group.sinks()); });
  return all;
}

NamedTensors Llama::block_weights(std::int64_t block) const {
  return impl_->blocks.at(static_cast<std::size_t>(block)).weights();
}

NamedTensors Llama::split_weights(std::int64_t number) const {
  if (!impl_->splits_ends) return block_weights(number);
  if (number == 0) return impl_->ends.embedding_weights();
  if (number <= impl_->config.num_layers) return block_weights(number - 1);
  if (impl_->ends.is_tied) throw std::logic_error("tied ends are one");
  return {impl_->ends.head_weights().back()};
}

WeightSinks Llama::split_sinks(std::int64_t number) {
  const std::int64_t layer = number - impl_->first_layer();
  WeightSinks all;
  if (layer < 0 || layer >= impl_->config.num_layers) return all;
  for (LinearGroup* group : impl_->blocks[static_cast<std::size_t>(layer)].groups())
    append(all, group->sinks());
  return all;
}

std::int64_t Llama::weight_bytes() const {
  std::int64_t bytes = bytes_of(impl_->weights);
  impl_->for_each_group([&](const LinearGroup& group) { bytes += group.quantised_bytes(); });
  return bytes - (impl_->hooks ? impl_->hooks->spared_bytes() : 0);
}

void Llama::initialise(std::uint64_t seed) {
  fill_initial_weights(weights(), sinks(), impl_->config.initializer_range, seed);
}

std::vector<std::string> Llama::linear_layers() const {
  std::vector<std::string> names;
  impl_->for_each_group([&](const LinearGroup& group) {
    for (const LinearGroup::Layer& layer : group.layers())
      names.push_back(layer.name);
  });
  return names;
}

std::vector<std::string> Llama::savable_modules() const {
  std::vector<std::string> modules = LlamaEnds::modules();
  for (const LlamaBlock& block : impl_->blocks) {
    const std::vector<std::string> norms = block.norms();
    modules.insert(modules.end(), norms.begin(), norms.end());
  }
  return modules;
}

void Llama::add_adapters(const AdapterOptions& options) {
  if (!impl_->adapters.empty()) throw std::logic_error("the network has adapters already");
  if (impl_->splits_ends) throw std::logic_error("a network of which the ends are split has no adapters");
  const std::vector<std::string> layers = linear_layers(), adapted = adapted_layers(options, layers);
  layer_adapters(options, adapted);  // whose errors say more than those of a group
  const std::vector<std::string> saved = saved_modules(options, savable_modules(), layers);
  impl_->ends.save(saved, options.dtype);
  NamedTensors low_rank;
  impl_->adapters = impl_->ends.saved_embedding();
  for (LlamaBlock& block : impl_->blocks) {
    block.save_norms(saved, options.dtype);
    for (LinearGroup* group : block.groups())
      group->add_adapters(options, adapted);
    append(impl_->adapters, block.saved());
    append(impl_->adapters, block.adapters());
    append(low_rank, block.adapters());
  }
  append(impl_->adapters, impl_->ends.saved_head());
  fill_initial_adapters(low_rank, options.seed);
  impl_->dropout = options.settings.dropout;
  impl_->parameters = impl_->adapters;
  if (impl_->hooks) impl_->hooks->set_deepest(impl_->deepest_in_backward());
}

const NamedTensors& Llama::adapters() const {
  return impl_->adapters;
}

const NamedTensors& Llama::parameters() const {
  return impl_->parameters;
}

void Llama::merge_adapters() {
  impl_->ends.merge();
  for (LlamaBlock& block : impl_->blocks)
    block.merge_adapters();
  if (impl_->config.has_tied_embeddings && !impl_->ends.is_tied) {
    impl_->config.has_tied_embeddings = false;
    impl_->weights.push_back(impl_->ends.head_weights().back());
  }
  impl_->adapters.clear();
  impl_->parameters.clear();
}

void Llama::set_compute_dtype(at::ScalarType dtype) {
  impl_->compute = dtype;
}

void Llama::set_training(Mode mode) {
  impl_->mode = mode;
}

void Llama::set_dropout_seed(std::uint64_t seed) {
  impl_->dropout_seed = seed;
}

void Llama::set_checkpointing(Checkpointing checkpointing) {
  impl_->checkpointing = checkpointing;
}

void Llama::set_adapters(Adapters adapters) {
  impl_->adapters_state = adapters;
}

void Llama::set_fake_quantisation(FakeQuantisation state) {
  impl_->for_each_group([&](LinearGroup& group) { group.set_fake_quantisation(state); });
}

void Llama::set_block_hooks(std::shared_ptr<BlockHooks> hooks) {
  impl_->hooks = std::move(hooks);
  if (impl_->hooks) impl_->hooks->set_deepest(impl_->deepest_in_backward());
}

BlockHooks* Llama::block_hooks() const {
  return impl_->hooks.get();
}

void Llama::with_unequal_passes(const std::function<void()>& body, const Llama* second) {
  multicard::with_unequal_passes(impl_->hooks.get(), body, second ? second->block_hooks() : nullptr);
}

std::int64_t Llama::loss_chunk() const {
  return impl_->loss_chunk;
}

void Llama::set_loss_chunk(std::int64_t targets) {
  impl_->loss_chunk = targets;
}

}  // namespace multicard
