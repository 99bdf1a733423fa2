#include "nn/vision/FusedInvertedResidual.hpp"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/OperatorScope.hpp"
#include "kernels/SavedPointer.hpp"
#include "kernels/cpu/DepthwiseRows.hpp"
#include "kernels/cpu/ImageLayout.hpp"
#include "kernels/cpu/NormRows.hpp"
#include "kernels/cpu/PointwiseRows.hpp"
#include "kernels/cpu/TensorValues.hpp"
#include "nn/layers/SavedBlock.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One forward pass of a block.
// Each convolution applies the norm and ReLU6 of the one before while it reads its output, and adds up the moments of
// its own.
template <typename S>
class Forward {
  using C = Compute<S>;

 public:
  Forward(const InvertedResidual& block, const NormContext& context, SavedBlock& saved)
      : block_(block), context_(context), saved_(saved) {}

  at::Tensor run() {
    const ActivationShape shape(saved_.input);
    if (block_.expand) expand(shape);
    depthwise(with_channels(shape, block_.depthwise.convolution.in));
    project(ActivationShape(saved_.depthwise.output));
    return finish();
  }

 private:
  void settle(SavedLayer& layer, const ConvNorm& source, const ChannelMoments& moments) const {
    layer.weight = source.weight;
    layer.norm_weight = source.norm.weight;
    layer.norm_bias = source.norm.bias;
    layer.statistics = NormStatistics::of(context_, moments, source.norm).saved();
  }

  void expand(const ActivationShape& shape) {
    const ConvNorm& source = *block_.expand;
    ChannelMoments moments(source.convolution.out);
    saved_.expand.output = empty_images(saved_.input, with_channels(shape, source.convolution.out));
    pointwise_forward<S>({shape.rows(), source.weight, values_of<S>(saved_.input), nullptr},
                         mutable_values_of<S>(saved_.expand.output), wanted(moments));
    settle(saved_.expand, source, moments);
  }

  void depthwise(const ActivationShape& shape) {
    const ConvNorm& source = block_.depthwise;
    const std::int64_t stride = source.convolution.stride;
    ChannelMoments moments(shape.channels);
    saved_.depthwise.output = empty_images(saved_.input, strided(shape, stride));
    std::optional<NormCoefficients<C>> before;
    if (block_.expand) before = saved_.expand.coefficients<C>(Activation::relu6);
    const at::Tensor& x = block_.expand ? saved_.expand.output : saved_.input;
    depthwise_forward<S>({shape.images, shape.height, shape.width, shape.channels, stride, source.weight,
                          values_of<S>(x), before ? &*before : nullptr},
                         mutable_values_of<S>(saved_.depthwise.output), wanted(moments));
    settle(saved_.depthwise, source, moments);
  }

  void project(const ActivationShape& shape) {
    const ConvNorm& source = block_.project;
    ChannelMoments moments(source.convolution.out);
    saved_.project.output = empty_images(saved_.input, with_channels(shape, source.convolution.out));
    const auto before = saved_.depthwise.coefficients<C>(Activation::relu6);
    pointwise_forward<S>({shape.rows(), source.weight, values_of<S>(saved_.depthwise.output), &before},
                         mutable_values_of<S>(saved_.project.output), wanted(moments));
    settle(saved_.project, source, moments);
  }

  at::Tensor finish() const {
    const ActivationShape shape(saved_.project.output);
    at::Tensor y = empty_images(saved_.input, shape);
    normalise_rows(values_of<S>(saved_.project.output), shape.rows(), saved_.project.coefficients<C>(Activation::none),
                   block_.adds_input() ? values_of<S>(saved_.input) : nullptr, mutable_values_of<S>(y));
    return y;
  }

  ChannelMoments* wanted(ChannelMoments& moments) const { return context_.uses_batch() ? &moments : nullptr; }

  const InvertedResidual& block_;
  const NormContext& context_;
  SavedBlock& saved_;
};

// Which gradients autograd asks for; frozen layers have none.
struct LayerNeeds {
  bool weight = false, norm_weight = false, norm_bias = false;

  bool norm() const { return norm_weight || norm_bias; }
  bool any() const { return norm() || weight; }
  // What backward of the convolution computes, if anything, where its input's gradient is needed or not.
  Gradients gradients(bool needs_input) const {
    return !needs_input ? Gradients::of_weight : weight ? Gradients::both : Gradients::of_input;
  }
};

struct BlockNeeds {
  bool input = false;
  LayerNeeds expand, depthwise, project;

  // The gradient of the activated output of the expansion, and of the depthwise convolution.
  bool expanded() const { return input || expand.any(); }
  bool filtered() const { return expanded() || depthwise.any(); }

  // Autograd counts the tensors that were given only.
  static BlockNeeds of(const AutogradContext& context, bool expands) {
    BlockNeeds needs;
    std::size_t edge = 0;
    needs.input = context.needs_input_grad(edge++);
    for (LayerNeeds* layer : {&needs.expand, &needs.depthwise, &needs.project}) {
      if (layer == &needs.expand && !expands) continue;
      layer->weight = context.needs_input_grad(edge++);
      layer->norm_weight = context.needs_input_grad(edge++);
      layer->norm_bias = context.needs_input_grad(edge++);
    }
    return needs;
  }
};

// One backward pass of a block; gradients come in the order of the arguments of the operation, undefined where none is
// asked for.
template <typename S>
class Backward {
  using C = Compute<S>;

 public:
  Backward(const SavedBlock& saved, const BlockNeeds& needs, std::int64_t stride, bool adds_input,
           StatisticsReducer* reducer)
      : saved_(saved), needs_(needs), stride_(stride), adds_input_(adds_input), reducer_(reducer) {}

  variable_list run(const at::Tensor& dy) {
    project(dy);
    const at::Tensor dexpanded = needs_.filtered() ? depthwise() : at::Tensor();
    at::Tensor dinput;
    if (needs_.expanded()) dinput = saved_.expands() ? expand(dexpanded, dy) : plus_residual(dexpanded, dy);
    variable_list gradients{dinput};
    for (const LayerGradients* layer : {&expand_, &depthwise_, &project_})
      gradients.insert(gradients.end(), {layer->weight, layer->norm_weight, layer->norm_bias});
    return gradients;
  }

 private:
  struct LayerGradients {
    at::Tensor weight, norm_weight, norm_bias;
  };

  static const S* data(const at::Tensor& tensor) { return values_of<S>(tensor); }
  static S* mutable_data(const at::Tensor& tensor) { return tensor.defined() ? mutable_values_of<S>(tensor) : nullptr; }
  static at::Tensor empty_if(bool wanted, const at::Tensor& like) {
    return wanted ? empty_images(like, ActivationShape(like)) : at::Tensor();
  }

  NormGradient<C> settle(const SavedLayer& layer, const LayerNeeds& needs, const GradientSums& sums,
                         LayerGradients& out) const {
    NormGradient<C> gradient(sums, NormStatistics(layer.statistics), layer.norm_weight, reducer_);
    if (needs.norm_weight) out.norm_weight = gradient.weight;
    if (needs.norm_bias) out.norm_bias = gradient.bias;
    return gradient;
  }

  // Frozen statistics with frozen weight and bias depend on no sums.
  GradientSums output_sums(const at::Tensor& dy) const {
    const ActivationShape shape(dy);
    if (!needs_.project.norm() && !NormStatistics(saved_.project.statistics).follows_batch())
      return GradientSums(shape.channels);
    return norm_gradient_sums(data(dy), data(saved_.project.output), shape.rows(),
                              saved_.project.template coefficients<C>(Activation::none));
  }

  void project(const at::Tensor& dy) {
    const NormGradient<C> gradient = settle(saved_.project, needs_.project, output_sums(dy), project_);
    if (!needs_.filtered() && !needs_.project.weight) return;
    const auto before = saved_.depthwise.template coefficients<C>(Activation::relu6);
    dfiltered_ = empty_if(needs_.filtered(), saved_.depthwise.output);
    auto result = pointwise_backward<S>(
        {ActivationShape(dy).rows(), saved_.project.weight, data(saved_.depthwise.output), &before}, data(dy),
        data(saved_.project.output), gradient, nullptr, needs_.project.gradients(needs_.filtered()),
        mutable_data(dfiltered_));
    project_.weight = result.weight;
    filtered_sums_ = std::move(result.before);
  }

  at::Tensor depthwise() {
    const NormGradient<C> gradient = settle(saved_.depthwise, needs_.depthwise, filtered_sums_, depthwise_);
    if (!needs_.expanded() && !needs_.depthwise.weight) return {};
    std::optional<NormCoefficients<C>> before;
    if (saved_.expands()) before = saved_.expand.template coefficients<C>(Activation::relu6);
    const at::Tensor& x = saved_.expands() ? saved_.expand.output : saved_.input;
    const ActivationShape shape(x);
    at::Tensor dx = empty_if(needs_.expanded(), x);
    auto result = depthwise_backward<S>({shape.images, shape.height, shape.width, shape.channels, stride_,
                                         saved_.depthwise.weight, data(x), before ? &*before : nullptr},
                                        data(dfiltered_), data(saved_.depthwise.output), gradient,
                                        needs_.depthwise.gradients(needs_.expanded()), mutable_data(dx));
    dfiltered_.reset();
    depthwise_.weight = result.weight;
    expanded_sums_ = std::move(result.before);
    return dx;
  }

  at::Tensor expand(const at::Tensor& dexpanded, const at::Tensor& dy) {
    const NormGradient<C> gradient = settle(saved_.expand, needs_.expand, expanded_sums_, expand_);
    if (!needs_.input && !needs_.expand.weight) return {};
    at::Tensor dinput = empty_if(needs_.input, saved_.input);
    auto result =
        pointwise_backward<S>({ActivationShape(saved_.input).rows(), saved_.expand.weight, data(saved_.input), nullptr},
                              data(dexpanded), data(saved_.expand.output), gradient, adds_input_ ? data(dy) : nullptr,
                              needs_.expand.gradients(needs_.input), mutable_data(dinput));
    expand_.weight = result.weight;
    return dinput;
  }

  at::Tensor plus_residual(at::Tensor dinput, const at::Tensor& dy) const {
    if (adds_input_) dinput.add_(dy);
    return dinput;
  }

  const SavedBlock& saved_;
  const BlockNeeds& needs_;
  std::int64_t stride_;
  bool adds_input_;
  StatisticsReducer* reducer_;
  at::Tensor dfiltered_;
  GradientSums filtered_sums_{0}, expanded_sums_{0};
  LayerGradients expand_, depthwise_, project_;
};

class FusedInvertedResidual : public torch::autograd::Function<FusedInvertedResidual> {
 public:
  using Parameter = std::optional<at::Tensor>;
  // The tensors after x stand here only to make autograd see them; they are those of `block`.
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const Parameter&, const Parameter&,
                            const Parameter&, const Parameter&, const Parameter&, const Parameter&, const Parameter&,
                            const Parameter&, const Parameter&, const InvertedResidual* block,
                            const NormContext* norm_context) {
    const OperatorScope scope("multicard::inverted_residual");
    const at::MemoryFormat layout = layout_of(x);
    SavedBlock saved;
    saved.input = in_layout(x, at::MemoryFormat::ChannelsLast);
    at::Tensor y;
    with_storage(x.scalar_type(),
                 [&]<typename S>() { y = in_layout(Forward<S>(*block, *norm_context, saved).run(), layout); });
    context->saved_data["layout"] = static_cast<std::int64_t>(layout);
    context->save_for_backward(saved.tensors());
    context->saved_data["stride"] = block->depthwise.convolution.stride;
    context->saved_data["adds_input"] = block->adds_input();
    context->saved_data["reducer"] = saved_value(norm_context->reducer);
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const SavedBlock saved = SavedBlock::of(context->get_saved_variables());
    const std::int64_t stride = context->saved_data["stride"].toInt();
    const bool adds_input = context->saved_data["adds_input"].toBool();
    // Autograd keeps numbers, not pointers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* reducer = saved_pointer<StatisticsReducer>(context->saved_data["reducer"]);
    const auto layout = static_cast<at::MemoryFormat>(context->saved_data["layout"].toInt());
    const at::Tensor dy = in_layout(gradients[0], at::MemoryFormat::ChannelsLast);
    const BlockNeeds needs = BlockNeeds::of(*context, saved.expands());
    variable_list result;
    with_storage(dy.scalar_type(),
                 [&]<typename S>() { result = Backward<S>(saved, needs, stride, adds_input, reducer).run(dy); });
    if (needs.input) result[0] = in_layout(result[0], layout);
    result.resize(12);  // block and norm_context have none
    return result;
  }
};

}  // namespace

bool can_fuse(const at::Tensor& x, const InvertedResidual& block, const NormContext& context) {
  const bool is_autocast = at::autocast::is_autocast_enabled(at::kCPU);
  return context.kernels == Kernels::automatic && x.device().is_cpu() &&
         has_cpu_kernels(x.scalar_type(), block.depthwise.weight.scalar_type()) &&
         (!is_autocast || at::autocast::get_autocast_dtype(at::kCPU) == x.scalar_type());
}

at::Tensor fused_inverted_residual(const at::Tensor& x, const InvertedResidual& block, const NormContext& context) {
  using Parameter = std::optional<at::Tensor>;
  const ConvNorm none;
  const ConvNorm &expand = block.expand ? *block.expand : none, &depthwise = block.depthwise, &project = block.project;
  return FusedInvertedResidual::apply(
      x, Parameter(expand.weight), Parameter(expand.norm.weight), Parameter(expand.norm.bias),
      Parameter(depthwise.weight), Parameter(depthwise.norm.weight), Parameter(depthwise.norm.bias),
      Parameter(project.weight), Parameter(project.norm.weight), Parameter(project.norm.bias), &block, &context);
}

}  // namespace multicard
