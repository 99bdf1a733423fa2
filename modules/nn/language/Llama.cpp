#include "nn/language/Llama.hpp"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>

#include "base/Error.hpp"
#include "kernels/Matmul.hpp"
#include "nn/language/Int4Weight.hpp"
#include "nn/language/LlamaBlock.hpp"
#include "nn/language/LlamaEnds.hpp"
#include "nn/language/RmsNorm.hpp"
#include "nn/language/Rope.hpp"
#include "nn/layers/InitialWeights.hpp"
#include "nn/losses/SequenceLoss.hpp"
#include "nn/losses/TokenLoss.hpp"
#include "profiler/BlockScope.hpp"

namespace multicard {
namespace {

void append(NamedTensors& to, const NamedTensors& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void check_input(const TextInput& input) {
  if (input.tokens.dim() != 2 || input.tokens.sizes() != input.targets.sizes())
    throw DataError("tokens and targets of a batch differ in shape");
  if (input.tokens.size(0) != static_cast<std::int64_t>(input.shapes.size()))
    throw DataError("a batch of " + std::to_string(input.tokens.size(0)) + " rows comes with the shapes of " +
                    std::to_string(input.shapes.size()));
}

}  // namespace

struct Llama::Impl {
  Impl(const LlamaConfig& shape, const at::TensorOptions& tensor_options, WeightFormat format)
      : config(shape),
        options(tensor_options),
        compute(c10::typeMetaToScalarType(tensor_options.dtype())),
        ends(shape, tensor_options),
        table(shape, tensor_options.device()) {
    check_group_size(config, format);
    weights = ends.embedding_weights();
    for (std::int64_t number = 0; number < config.num_layers; ++number) {
      blocks.emplace_back(config, number, options, format);
      append(weights, blocks.back().weights());
    }
    append(weights, ends.head_weights());
    parameters = weights;
    loss_chunk = automatic_chunk(ends.head.own());
  }

  at::Tensor embedded(const at::Tensor& tokens) const {
    const BlockScope scope("embedding");
    return at::embedding(ends.embedding.used(uses_adapters()), tokens.reshape({-1})).to(compute);
  }

  /// The normed output of the last block for embedded tokens, [tokens, hidden].
  /// The residual stream is passed on as x and delta: their sum is fused into the norm that follows.
  at::Tensor hidden(at::Tensor embedded_tokens, c10::intrusive_ptr<SequencePlan> plan, std::int64_t end,
                    std::vector<KvCache*> caches = {}) {
    table.reach(end, compute);
    plan->rope = table.at_positions(plan->positions);
    LlamaPass pass;
    pass.plan = std::move(plan);
    pass.caches = std::move(caches);
    pass.linear = {compute, uses_adapters(), mode == Mode::train ? dropout : 0.0, dropout_seed};
    const bool recomputes = checkpointing == Checkpointing::per_layer && at::GradMode::is_enabled();
    Residual stream{std::move(embedded_tokens), {}};
    for (const LlamaBlock& block : blocks)
      stream = recomputes ? block.checkpointed_forward(stream, pass) : block.forward(stream, pass);
    return add_rms_norm(stream.x, stream.delta, ends.norm.used(uses_adapters()), config.norm_epsilon).normed;
  }

  at::Tensor logits_of(const at::Tensor& hidden_rows) const {
    const at::ScalarType dtype = matmul_dtype(hidden_rows.scalar_type(), options.device());
    return fast_matmul(hidden_rows.to(dtype), head().to(dtype).t());
  }

  at::Tensor hidden(const TextInput& input) {
    check_input(input);
    auto plan = SequencePlan::of_rows(input.shapes, input.tokens.size(1), options.device());
    const std::int64_t longest = plan->longest;
    at::Tensor x = embedded(input.tokens);
    if (input.noise.is_on())
      x = x + embedding_noise(input.noise, input.shapes, input.tokens.size(1), config.hidden_size, x.options());
    return hidden(std::move(x), std::move(plan), longest);
  }

  template <class Function>
  void for_each_group(Function function) {
    for (LlamaBlock& block : blocks)
      for (LinearGroup* group : block.groups())
        function(*group);
  }

  bool uses_adapters() const { return adapters_state == Adapters::on; }
  const at::Tensor& head() const { return ends.head.used(uses_adapters()); }

  LlamaConfig config;
  at::TensorOptions options;
  at::ScalarType compute;
  LlamaEnds ends;
  std::vector<LlamaBlock> blocks;
  NamedTensors weights, adapters, parameters;
  GrowingRopeTable table;
  Mode mode = Mode::train;
  Checkpointing checkpointing = Checkpointing::off;
  Adapters adapters_state = Adapters::on;
  double dropout = 0;
  std::int64_t loss_chunk = 0;
  std::uint64_t dropout_seed = 0;
};

Llama::Llama(const LlamaConfig& config, at::ScalarType weights_dtype, at::Device device, WeightFormat format)
    : impl_(std::make_unique<Impl>(config, at::TensorOptions().dtype(weights_dtype).device(device), format)) {}

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
  impl_->for_each_group([&](LinearGroup& group) {
    for (WeightSink& sink : group.sinks())
      all.push_back(std::move(sink));
  });
  return all;
}

std::int64_t Llama::weight_bytes() const {
  std::int64_t bytes = bytes_of(impl_->weights);
  impl_->for_each_group([&](const LinearGroup& group) { bytes += group.quantised_bytes(); });
  return bytes;
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

void Llama::prepare_positions(std::int64_t end) {
  impl_->table.reach(end, impl_->compute);
}

std::int64_t Llama::loss_chunk() const {
  return impl_->loss_chunk;
}

void Llama::set_loss_chunk(std::int64_t targets) {
  impl_->loss_chunk = targets;
}

at::Tensor Llama::loss_sum(const TextInput& input) {
  const at::Tensor hidden = impl_->hidden(input), targets = input.targets.reshape({-1});
  const BlockScope scope("head");
  return token_loss(hidden, impl_->head(), token_targets(targets, num_targets(input.shapes)), impl_->loss_chunk);
}

SequenceLosses Llama::sequence_losses(const TextInput& input) {
  check_input(input);
  const auto plan = SequencePlan::of_rows(input.shapes, input.tokens.size(1), device());
  SequenceTargets sequences{token_targets(input.targets.reshape({-1}), num_targets(input.shapes)), {}, 0};
  sequences.sequence_of = plan->sequence_of.index_select(0, sequences.targets.positions);
  sequences.num_sequences = static_cast<std::int64_t>(plan->sequences.size());
  const at::Tensor hidden = impl_->hidden(impl_->embedded(input.tokens), plan, plan->longest);
  const BlockScope scope("head");
  return {multicard::sequence_losses(hidden, impl_->head(), sequences, impl_->loss_chunk), sequences.counts()};
}

at::Tensor Llama::logits(const at::Tensor& tokens) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = tokens.size(0), width = tokens.size(1);
  const std::vector<RowShape> shapes(static_cast<std::size_t>(rows), RowShape{{width}, 0});
  const at::Tensor hidden =
      impl_->hidden(impl_->embedded(tokens), SequencePlan::of_rows(shapes, width, device()), width);
  return impl_->logits_of(hidden).to(hidden.scalar_type()).view({rows, width, impl_->config.vocabulary_size});
}

at::Tensor Llama::next_logits(const at::Tensor& tokens, std::span<const Continued> sequences) {
  const at::NoGradGuard no_grad;
  std::vector<TokenSpan> positions;
  std::vector<KvCache*> caches;
  std::int64_t end = 0;
  for (const Continued& sequence : sequences) {
    positions.push_back({sequence.cache->num_tokens(), sequence.count});
    caches.push_back(sequence.cache);
    end = std::max(end, sequence.cache->num_tokens() + sequence.count);
  }
  auto plan = SequencePlan::of_continuations(positions, device());
  const at::Tensor hidden = impl_->hidden(impl_->embedded(tokens), std::move(plan), end, std::move(caches));
  std::vector<at::Tensor> last;
  std::int64_t num_read = 0;
  for (const Continued& sequence : sequences) {
    sequence.cache->advance(sequence.count);
    last.push_back(hidden.narrow(0, (num_read += sequence.count) - 1, 1));
  }
  const at::Tensor logits = impl_->logits_of(at::cat(last));
  return logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
}

}  // namespace multicard
