#include "nn/language/LlamaBlock.hpp"

#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/SavedPointer.hpp"
#include "nn/language/HeadNorms.hpp"
#include "nn/language/RmsNorm.hpp"
#include "nn/language/SwiGlu.hpp"
#include "nn/layers/Random.hpp"
#include "profiler/BlockScope.hpp"
#include "state/PeftAdapter.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::string block_name(std::int64_t number) {
  return "model.layers." + std::to_string(number) + ".";
}

at::Tensor norm_weight(std::int64_t size, const at::TensorOptions& options) {
  return at::empty({size}, options).requires_grad_(true);
}

/// The layer `name`, as the model's files store it.
LinearGroup::Layer layer_of(const LlamaConfig& config, std::string name, std::int64_t out, bool has_bias) {
  const bool is_whole = config.whole_layers.contains(name);
  return {std::move(name), out, has_bias, is_whole};
}

/// A pass that backward still needs.
/// A copy: the pass that forward was given is gone by the time of backward.
struct PassHolder : torch::CustomClassHolder {
  LlamaPass pass;
};

}  // namespace

LlamaBlock::LlamaBlock(const LlamaConfig& config, std::int64_t number, const at::TensorOptions& options,
                       WeightFormat format)
    : number_(number),
      window_(config.window(number)),
      epsilon_(config.norm_epsilon),
      shape_{config.num_heads, config.num_kv_heads, config.head_dim},
      name_(block_name(number)),
      norms_{{{name_ + "input_layernorm", norm_weight(config.hidden_size, options)},
              {name_ + "self_attn.q_norm", {}},
              {name_ + "self_attn.k_norm", {}},
              {name_ + "post_attention_layernorm", norm_weight(config.hidden_size, options)}}},
      qkv_(config.hidden_size,
           {layer_of(config, name_ + "self_attn.q_proj", config.query_size(), config.has_qkv_bias),
            layer_of(config, name_ + "self_attn.k_proj", config.kv_size(), config.has_qkv_bias),
            layer_of(config, name_ + "self_attn.v_proj", config.kv_size(), config.has_qkv_bias)},
           options, format),
      output_(config.query_size(),
              {layer_of(config, name_ + "self_attn.o_proj", config.hidden_size, config.has_output_bias)}, options,
              format),
      gate_up_(config.hidden_size,
               {layer_of(config, name_ + "mlp.gate_proj", config.intermediate_size, config.has_mlp_bias),
                layer_of(config, name_ + "mlp.up_proj", config.intermediate_size, config.has_mlp_bias)},
               options, format),
      down_(config.intermediate_size,
            {layer_of(config, name_ + "mlp.down_proj", config.hidden_size, config.has_mlp_bias)}, options, format) {
  if (!config.has_head_norms) return;
  for (const NormPlace place : {kQueries, kKeys})
    norms_[place].weight = norm_weight(config.head_dim, options);
}

// The order of Hugging Face's state dictionaries.
NamedTensors LlamaBlock::weights() const {
  NamedTensors all;
  const auto append = [&](const LinearGroup& group) {
    all.insert(all.end(), group.weights().begin(), group.weights().end());
  };
  const auto append_norm = [&](NormPlace place) {
    const Norm& norm = norms_[place];
    if (norm.weight.own().defined()) all.push_back({norm.name + ".weight", norm.weight.own()});
  };
  append_norm(kInput);
  append(qkv_);
  append(output_);
  append_norm(kQueries);
  append_norm(kKeys);
  append_norm(kOutput);
  append(gate_up_);
  append(down_);
  return all;
}

NamedTensors LlamaBlock::adapters() const {
  NamedTensors all;
  for (const LinearGroup* group : {&qkv_, &output_, &gate_up_, &down_})
    all.insert(all.end(), group->adapters().begin(), group->adapters().end());
  return all;
}

std::vector<std::string> LlamaBlock::norms() const {
  std::vector<std::string> names;
  for (const Norm& norm : norms_)
    if (norm.weight.own().defined()) names.push_back(norm.name);
  return names;
}

// Every norm is frozen, as PEFT does: only copies of the named ones are trained.
void LlamaBlock::save_norms(const std::vector<std::string>& modules, at::ScalarType dtype) {
  for (Norm& norm : norms_) {
    if (!norm.weight.own().defined()) continue;
    norm.weight.freeze();
    if (std::find(modules.begin(), modules.end(), norm.name) != modules.end()) norm.weight.save(dtype);
  }
}

NamedTensors LlamaBlock::saved() const {
  NamedTensors all;
  for (const Norm& norm : norms_)
    if (norm.weight.copy().defined())
      all.push_back({PeftAdapter::saved_name(norm.name + ".weight"), norm.weight.copy()});
  return all;
}

void LlamaBlock::merge_adapters() {
  for (Norm& norm : norms_)
    norm.weight.merge();
  for (LinearGroup* group : groups())
    group->merge_adapters();
}

std::vector<at::Tensor> LlamaBlock::trained() const {
  std::vector<at::Tensor> leaves;
  for (const NamedTensors& tensors : {weights(), adapters(), saved()})
    for (const NamedTensor& entry : tensors)
      if (entry.tensor.requires_grad()) leaves.push_back(entry.tensor);
  return leaves;
}

Residual LlamaBlock::forward(const Residual& in, const LlamaPass& pass) const {
  const BlockScope scope("layers", number_);
  return after_norm(norm_input(in, pass), pass);
}

Normed LlamaBlock::norm_input(const Residual& in, const LlamaPass& pass) const {
  return add_rms_norm(in.x, in.delta, norm_at(kInput, pass), epsilon_);
}

// Each of the four groups of each block has a dropout seed of its own: with a common one all of them would drop the
// same places.
Residual LlamaBlock::after_norm(const Normed& attn_norm, const LlamaPass& pass) const {
  const auto linear_of = [&](std::uint64_t group) {
    LinearPass linear = pass.linear;
    linear.dropout_seed = seed_of_stream(linear.dropout_seed, static_cast<std::uint64_t>(number_) * 4 + group);
    return linear;
  };
  at::Tensor qkv = qkv_.forward(attn_norm.normed, linear_of(0));
  const HeadNorms head_norms{norm_at(kQueries, pass), norm_at(kKeys, pass)};
  if (head_norms.are_there()) qkv = norm_heads(qkv, shape_, head_norms, epsilon_);
  const at::Tensor attn_out = pass.caches.empty()
                                  ? attention(qkv, shape_, pass.plan, window_)
                                  : cached_attention(qkv, shape_, *pass.plan, window_, number_, pass.caches);
  const Normed mlp_norm =
      add_rms_norm(attn_norm.stream, output_.forward(attn_out, linear_of(1)), norm_at(kOutput, pass), epsilon_);
  const at::Tensor gated = swiglu(gate_up_.forward(mlp_norm.normed, linear_of(2)));
  LinearPass last = linear_of(3);
  last.needs_output = !pass.is_repeated;
  return {mlp_norm.stream, down_.forward(gated, last)};
}

// Activation checkpointing (Chen et al. 2016, arXiv 1604.06174): forward runs without a graph, backward runs the block
// again with one. Both passes give the same values, because dropout is a function of seeds in the pass; no state of a
// generator is saved. Leaves are passed as arguments so that their gradients leave through autograd and reach its hooks
// (buckets).
class CheckpointedBlock : public torch::autograd::Function<CheckpointedBlock> {
 public:
  // Of x and delta their sum is kept: it has the same norm, bit for bit, and half their size.
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const std::optional<at::Tensor>& delta,
                               at::TensorList trained, const LlamaBlock* block, const LlamaPass* pass) {
    const Normed norm = block->norm_input({x, delta.value_or(at::Tensor())}, *pass);
    const Residual out = block->after_norm(norm, *pass);
    variable_list saved{norm.stream};
    saved.insert(saved.end(), trained.begin(), trained.end());
    context->save_for_backward(saved);
    auto holder = c10::make_intrusive<PassHolder>();
    holder->pass = *pass;
    holder->pass.is_repeated = true;
    context->saved_data["pass"] = c10::IValue::make_capsule(holder);
    context->saved_data["block"] = saved_value(block);
    context->saved_data["has_delta"] = delta.has_value();
    return {out.x, out.delta};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto* block = saved_pointer<const LlamaBlock>(context->saved_data["block"]);
    const auto holder = c10::static_intrusive_pointer_cast<PassHolder>(context->saved_data["pass"].toCapsule());
    const bool has_delta = context->saved_data["has_delta"].toBool();
    variable_list saved = context->get_saved_variables();
    // The first block of a frozen embedding has an input without gradient; its leaves still need the graph.
    const bool needs_input = context->needs_input_grad(0) || (has_delta && context->needs_input_grad(1));
    saved[0] = saved[0].detach().requires_grad_(needs_input);
    variable_list inputs;
    std::vector<std::size_t> places;  // of the inputs among what was saved
    for (std::size_t i = 0; i < saved.size(); ++i) {
      if (!saved[i].requires_grad()) continue;
      inputs.push_back(saved[i]);
      places.push_back(i);
    }
    variable_list found;
    {
      const at::AutoGradMode records(true);
      const Residual out = block->forward({saved[0], {}}, holder->pass);
      // Where adapters are those of the MLP alone, x of a block whose input needs no gradient has none.
      variable_list outputs, of_outputs;
      for (const auto& [output, gradient] : {std::pair(out.x, gradients[0]), std::pair(out.delta, gradients[1])}) {
        if (!output.requires_grad()) continue;
        outputs.push_back(output);
        of_outputs.push_back(gradient);
      }
      found = torch::autograd::grad(outputs, inputs, of_outputs, /*retain_graph=*/std::nullopt,
                                    /*create_graph=*/false, /*allow_unused=*/true);
    }
    variable_list result(1 + saved.size() + 2);  // block and pass have none
    for (std::size_t i = 0; i < found.size(); ++i)
      result[1 + places[i]] = found[i];
    result[0] = result[1];  // x and delta have the gradient of their sum
    if (!has_delta) result[1].reset();
    return result;
  }
};

Residual LlamaBlock::checkpointed_forward(const Residual& in, const LlamaPass& pass) const {
  const BlockScope scope("layers", number_);
  const auto delta = in.delta.defined() ? std::optional<at::Tensor>(in.delta) : std::nullopt;
  const std::vector<at::Tensor> leaves = trained();
  const variable_list out = CheckpointedBlock::apply(in.x, delta, at::TensorList(leaves), this, &pass);
  return {out[0], out[1]};
}

}  // namespace multicard
