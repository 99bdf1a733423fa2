#include "nn/language/LinearGroup.hpp"

#include <algorithm>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/Matmul.hpp"
#include "kernels/OperatorScope.hpp"
#include "kernels/SavedPointer.hpp"
#include "nn/language/Int4Weight.hpp"
#include "nn/layers/Random.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// A leaf that shares memory with rows of a larger tensor.
// Layers that read the same input are multiplied as one matrix; autograd, optimizers and files still see each of them
// as a tensor of its own. The leaves share the matrix's memory, so that an update of a leaf is one of the matrix.
at::Tensor leaf_of_rows(const at::Tensor& whole, std::int64_t first, std::int64_t rows) {
  const at::NoGradGuard no_grad;
  at::Tensor leaf = whole.narrow(0, first, rows).detach();
  return leaf.requires_grad_(true);
}

at::Tensor dropout(const at::Tensor& x, const LinearPass& pass) {
  return pass.dropout > 0 ? seeded_dropout(x, pass.dropout, pass.dropout_seed) : x;
}

}  // namespace

// y = x W^T + bias + s (dropout(x) A^T) B^T, with the A of all adapted layers stacked, so that x is read once for them.
// The leaves are arguments only to make autograd ask for their gradients; group and pass stand for what is computed.
class GroupFunction : public torch::autograd::Function<GroupFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, at::TensorList, const LinearGroup* group,
                            const LinearPass* pass) {
    const OperatorScope scope("multicard::linear_group");
    const bool adapts = group->is_adapted() && pass->uses_adapters;
    const at::ScalarType dtype = matmul_dtype(pass->dtype, x.device());
    const at::Tensor wide = x.to(dtype);
    at::Tensor lora_hidden;
    if (adapts) {
      lora_hidden = fast_matmul(dropout(wide, *pass), group->a_.to(dtype).t());
      // Scaled here, in the small matrix [tokens, ranks], and kept so: forward and the gradient of B both need s
      // dropout(x) A^T.
      group->scale(lora_hidden);
    }
    // dx = dy W needs no x: of frozen layers without adapters nothing of the input is kept.
    const bool needs_x = adapts || group->trains_weights() || group->base_->needs_input();
    context->save_for_backward({needs_x ? x : at::Tensor(), lora_hidden});
    context->saved_data["group"] = saved_value(group);
    context->saved_data["adapts"] = adapts;
    context->saved_data["dtype"] = static_cast<std::int64_t>(pass->dtype);
    context->saved_data["dropout"] = pass->dropout;
    context->saved_data["seed"] = static_cast<std::int64_t>(pass->dropout_seed);
    // For the last layer of a block that is computed again for backward: its values are known already, only its graph
    // is needed.
    if (!pass->needs_output) return at::empty({x.size(0), group->out_}, x.options().dtype(pass->dtype));
    return output(*group, wide, lora_hidden).to(pass->dtype);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto& group = *saved_pointer<const LinearGroup>(context->saved_data["group"]);
    LinearPass pass;
    pass.uses_adapters = context->saved_data["adapts"].toBool();
    pass.dtype = static_cast<at::ScalarType>(context->saved_data["dtype"].toInt());
    pass.dropout = context->saved_data["dropout"].toDouble();
    pass.dropout_seed = static_cast<std::uint64_t>(context->saved_data["seed"].toInt());
    const variable_list saved = context->get_saved_variables();
    const at::ScalarType dtype = matmul_dtype(pass.dtype, gradients[0].device());
    const at::Tensor dy = gradients[0].to(dtype);
    const bool needs_dx = context->needs_input_grad(0);

    variable_list result(1 + group.trained_.size() + 2);  // group and pass have none
    const at::Tensor x = saved[0].defined() ? saved[0].to(dtype) : at::Tensor();
    at::Tensor dx = needs_dx ? group.base_->input_gradient(dy, x) : at::Tensor();
    if (pass.uses_adapters)
      adapter_backward(group, pass, x, saved[1], dy, dx, result);
    else if (group.trains_weights())
      weight_backward(group, x, dy, result);
    if (needs_dx) result[0] = dx.to(pass.dtype);
    return result;
  }

 private:
  static at::Tensor output(const LinearGroup& group, const at::Tensor& x, const at::Tensor& lora_hidden) {
    at::Tensor y = group.base_->matmul(x);
    if (group.bias_.defined()) y.add_(group.bias_.to(x.scalar_type()));
    if (!lora_hidden.defined()) return y;
    for (const LinearGroup::Adapter& adapter : group.adapted_)
      y.narrow(1, adapter.first, adapter.out)
          .addmm_(LinearGroup::columns(lora_hidden, adapter), adapter.b.to(x.scalar_type()).t());
    return y;
  }

  // dA = (s dy B)^T dropout(x), dB = dy^T (s dropout(x) A^T), and to dx what went through the adapters.
  static void adapter_backward(const LinearGroup& group, const LinearPass& pass, const at::Tensor& x,
                               const at::Tensor& lora_hidden, const at::Tensor& dy, at::Tensor& dx,
                               variable_list& result) {
    at::Tensor dlora_hidden = at::empty_like(lora_hidden);
    for (std::size_t i = 0; i < group.adapted_.size(); ++i) {
      const LinearGroup::Adapter& adapter = group.adapted_[i];
      const at::Tensor dy_i = dy.narrow(1, adapter.first, adapter.out);
      at::Tensor dlora_hidden_i = LinearGroup::columns(dlora_hidden, adapter);
      at::mm_out(dlora_hidden_i, dy_i, adapter.b.to(dy.scalar_type()));
      result[2 + 2 * i] = at::mm(dy_i.t(), LinearGroup::columns(lora_hidden, adapter)).to(adapter.b.scalar_type());
    }
    group.scale(dlora_hidden);
    const at::Tensor da = at::mm(dlora_hidden.t(), dropout(x, pass)).to(group.a_.scalar_type());
    for (std::size_t i = 0; i < group.adapted_.size(); ++i)
      result[1 + 2 * i] = da.narrow(0, group.adapted_[i].first_rank, group.adapted_[i].b.size(1));
    if (!dx.defined()) return;
    const at::Tensor a = group.a_.to(dy.scalar_type());
    // The mask is made again from its seed instead of being kept. It acts on the adapters' input alone, and so on their
    // part of dx alone.
    if (pass.dropout > 0)
      dx.add_(dropout(at::mm(dlora_hidden, a), pass));
    else
      dx.addmm_(dlora_hidden, a);
  }

  static void weight_backward(const LinearGroup& group, const at::Tensor& x, const at::Tensor& dy,
                              variable_list& result) {
    const at::Tensor dweight = group.base_->weight_gradient(dy, x).to(group.weight_.scalar_type());
    at::Tensor dbias;
    if (group.bias_.defined()) dbias = dy.sum({0}, false, group.bias_.scalar_type());
    std::int64_t first = 0;
    std::size_t at = 1;
    for (const LinearGroup::Layer& layer : group.layers_) {
      result[at++] = dweight.narrow(0, first, layer.out);
      if (layer.has_bias) result[at++] = dbias.narrow(0, first, layer.out);
      first += layer.out;
    }
  }
};

LinearGroup::LinearGroup(std::int64_t in, std::vector<Layer> layers, const at::TensorOptions& options,
                         WeightFormat format)
    : in_(in), layers_(std::move(layers)), options_(options) {
  for (const Layer& layer : layers_)
    out_ += layer.out;
  const bool is_whole = std::all_of(layers_.begin(), layers_.end(), [](const Layer& layer) { return layer.is_whole; });
  if (format.is_quantised() && !is_whole)
    make_packed(format);
  else if (format.kind == WeightFormat::Kind::fake_int4)
    make_tensor([&] { return std::make_shared<FakeInt4Weight>(weight_, format.group_size); });
  else
    make_tensor([&] { return std::make_shared<DenseWeight>(weight_); });
}

template <typename MakeBase>
void LinearGroup::make_tensor(const MakeBase& base) {
  weight_ = at::empty({out_, in_}, options_);
  base_ = base();
  add_leaves();
}

void LinearGroup::make_packed(WeightFormat format) {
  std::vector<std::int64_t> outs;
  std::vector<Nf4Weight::Layer> parts;
  for (const Layer& layer : layers_) {
    outs.push_back(layer.out);
    parts.push_back({layer.out, layer.is_whole});
  }
  if (format.kind == WeightFormat::Kind::nf4)
    packed_ = std::make_shared<Nf4Weight>(in_, parts, format.nested, options_);
  else
    packed_ = std::make_shared<Int4Weight>(in_, outs, format.group_size, options_.device());
  base_ = packed_;
  add_leaves();
}

void LinearGroup::add_leaves() {
  // Of layers with and without bias those without would have one of zero; in these networks all or none have one.
  if (layers_.front().has_bias) bias_ = at::empty({out_}, options_);
  std::int64_t first = 0;
  for (const Layer& layer : layers_) {
    if (weight_.defined()) weights_.push_back({layer.name + ".weight", leaf_of_rows(weight_, first, layer.out)});
    if (layer.has_bias) weights_.push_back({layer.name + ".bias", leaf_of_rows(bias_, first, layer.out)});
    first += layer.out;
  }
  trained_ = tensors_of(weights_);
}

std::vector<at::Tensor> LinearGroup::matrices() const {
  return packed_ ? packed_->matrices() : std::vector<at::Tensor>{weight_};
}

void LinearGroup::multiply_copy(at::ScalarType type) {
  copy_ = at::empty(weight_.sizes(), options_.dtype(type));
  base_ = std::make_shared<DenseWeight>(copy_);
}

WeightSinks LinearGroup::sinks() {
  WeightSinks sinks;
  for (std::size_t i = 0; packed_ && i < layers_.size(); ++i)
    sinks.push_back({layers_[i].name + ".weight",
                     {layers_[i].out, in_},
                     [base = packed_, i](const at::Tensor& values) { base->fill(i, values); },
                     [base = packed_, i](const StoredWeight& stored) { base->take(i, stored); },
                     [base = packed_, i](const ShareTensors& share) { base->share(i, share); }});
  return sinks;
}

std::int64_t LinearGroup::quantised_bytes() const {
  return packed_ ? packed_->bytes() : 0;
}

// Frozen weights require no gradients from here on: autograd then asks for those of A and B alone.
void LinearGroup::add_adapters(const AdapterOptions& options, const std::vector<std::string>& names) {
  for (NamedTensor& weight : weights_)
    weight.tensor.requires_grad_(false);
  trained_.clear();
  std::vector<std::string> adapted;
  for (const Layer& layer : layers_)
    if (std::find(names.begin(), names.end(), layer.name) != names.end()) adapted.push_back(layer.name);
  if (adapted.empty()) return;
  const std::vector<LayerAdapter> shapes =
      options.settings.patterns.apply(options.settings.common(), adapted, options.matcher);
  std::int64_t all_ranks = 0, first = 0;
  for (const LayerAdapter& shape : shapes)
    all_ranks += shape.rank;
  const at::TensorOptions tensor_options = options_.dtype(options.dtype);
  a_ = at::zeros({all_ranks, in_}, tensor_options);
  for (const Layer& layer : layers_) {
    if (adapted_.size() < adapted.size() && adapted[adapted_.size()] == layer.name) {
      const LayerAdapter& shape = shapes[adapted_.size()];
      const std::int64_t first_rank = adapted_.empty() ? 0 : adapted_.back().first_rank + adapted_.back().b.size(1);
      const at::Tensor a = leaf_of_rows(a_, first_rank, shape.rank);
      const at::Tensor b = at::zeros({layer.out, shape.rank}, tensor_options).requires_grad_(true);
      adapted_.push_back({first, layer.out, first_rank, shape.scaling(options.settings.rslora), b});
      adapters_.push_back({"base_model.model." + layer.name + ".lora_A.weight", a});
      adapters_.push_back({"base_model.model." + layer.name + ".lora_B.weight", b});
    }
    first += layer.out;
  }
  trained_ = tensors_of(adapters_);
}

void LinearGroup::scale(at::Tensor& hidden) const {
  const double common = adapted_.front().scaling;
  if (std::all_of(adapted_.begin(), adapted_.end(), [&](const Adapter& one) { return one.scaling == common; })) {
    if (common != 1) hidden.mul_(common);
    return;
  }
  for (const Adapter& adapter : adapted_)
    columns(hidden, adapter).mul_(adapter.scaling);
}

// W + s B A rounded once at the end: in the weights' own type (bfloat16, say) small updates would be lost in the
// product.
void LinearGroup::merge_adapters() {
  if (!weight_.defined()) throw std::logic_error("adapters cannot be merged into quantised weights");
  const at::NoGradGuard no_grad;
  for (const Adapter& adapter : adapted_) {
    at::Tensor weight = weight_.narrow(0, adapter.first, adapter.out);
    const at::ScalarType wide = weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const at::Tensor a = a_.narrow(0, adapter.first_rank, adapter.b.size(1)).to(wide);
    weight.copy_(at::addmm(weight.to(wide), adapter.b.to(wide), a, 1, adapter.scaling));
  }
  adapted_.clear();
  adapters_.clear();
  trained_.clear();
  a_.reset();
}

at::Tensor LinearGroup::forward(const at::Tensor& x, const LinearPass& pass) const {
  return GroupFunction::apply(x, at::TensorList(trained_), this, &pass);
}

}  // namespace multicard
