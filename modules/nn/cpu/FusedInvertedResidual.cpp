#include "nn/cpu/FusedInvertedResidual.hpp"

#include <ATen/Dispatch.h>
#include <torch/csrc/autograd/custom_function.h>

#include "nn/cpu/DepthwiseRows.hpp"
#include "nn/cpu/NormRows.hpp"
#include "nn/cpu/PointwiseRows.hpp"
#include "nn/cpu/SavedBlock.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One forward pass of a block.
template <typename T>
class Forward {
 public:
  Forward(const InvertedResidual& block, const NormContext& context, SavedBlock& saved)
      : block_(block), context_(context), saved_(saved) {}

  at::Tensor run() {
    const ImageShape shape(saved_.input);
    if (block_.expand) expand(shape);
    depthwise(with_channels(shape, block_.depthwise.convolution.in));
    project(ImageShape(saved_.depthwise.output));
    return finish();
  }

 private:
  void settle(SavedLayer& layer, const ConvNorm& source, const ChannelMoments& moments) const {
    layer.weight = source.weight;
    layer.norm_weight = source.norm.weight;
    layer.norm_bias = source.norm.bias;
    layer.statistics = NormStatistics::of(context_, moments, source.norm).saved();
  }

  void expand(const ImageShape& shape) {
    const ConvNorm& source = *block_.expand;
    ChannelMoments moments(source.convolution.out);
    saved_.expand.output = empty_images(saved_.input, with_channels(shape, source.convolution.out));
    pointwise_forward<T>({shape.rows(), source.weight, saved_.input.const_data_ptr<T>(), nullptr},
                         saved_.expand.output.mutable_data_ptr<T>(), wanted(moments));
    settle(saved_.expand, source, moments);
  }

  void depthwise(const ImageShape& shape) {
    const ConvNorm& source = block_.depthwise;
    const std::int64_t stride = source.convolution.stride;
    ChannelMoments moments(shape.channels);
    saved_.depthwise.output = empty_images(saved_.input, strided(shape, stride));
    std::optional<NormCoefficients<T>> before;
    if (block_.expand) before = saved_.expand.coefficients<T>(Activation::relu6);
    const at::Tensor& x = block_.expand ? saved_.expand.output : saved_.input;
    depthwise_forward<T>({shape.images, shape.height, shape.width, shape.channels, stride, source.weight,
                          x.const_data_ptr<T>(), before ? &*before : nullptr},
                         saved_.depthwise.output.mutable_data_ptr<T>(), wanted(moments));
    settle(saved_.depthwise, source, moments);
  }

  void project(const ImageShape& shape) {
    const ConvNorm& source = block_.project;
    ChannelMoments moments(source.convolution.out);
    saved_.project.output = empty_images(saved_.input, with_channels(shape, source.convolution.out));
    const auto before = saved_.depthwise.coefficients<T>(Activation::relu6);
    pointwise_forward<T>({shape.rows(), source.weight, saved_.depthwise.output.const_data_ptr<T>(), &before},
                         saved_.project.output.mutable_data_ptr<T>(), wanted(moments));
    settle(saved_.project, source, moments);
  }

  at::Tensor finish() const {
    const ImageShape shape(saved_.project.output);
    at::Tensor y = empty_images(saved_.input, shape);
    normalise_rows(saved_.project.output.const_data_ptr<T>(), shape.rows(),
                   saved_.project.coefficients<T>(Activation::none),
                   block_.adds_input() ? saved_.input.const_data_ptr<T>() : nullptr, y.mutable_data_ptr<T>());
    return y;
  }

  ChannelMoments* wanted(ChannelMoments& moments) const { return context_.uses_batch() ? &moments : nullptr; }

  const InvertedResidual& block_;
  const NormContext& context_;
  SavedBlock& saved_;
};

// One backward pass of a block; gradients come in the order of the arguments of the operation.
template <typename T>
class Backward {
 public:
  Backward(const SavedBlock& saved, std::int64_t stride, bool adds_input, StatisticsReducer* reducer)
      : saved_(saved), stride_(stride), adds_input_(adds_input), reducer_(reducer) {}

  variable_list run(const at::Tensor& dy) {
    const ImageShape shape(dy);
    const GradientSums sums = norm_gradient_sums(dy.const_data_ptr<T>(), data(saved_.project.output), shape.rows(),
                                                 saved_.project.coefficients<T>(Activation::none));
    project(dy, sums);
    const at::Tensor dexpanded = depthwise();
    const at::Tensor dinput = saved_.expands() ? expand(dexpanded, dy) : plus_residual(dexpanded, dy);
    variable_list gradients{dinput};
    for (const LayerGradients* layer : {&expand_, &depthwise_, &project_})
      gradients.insert(gradients.end(), {layer->weight, layer->norm_weight, layer->norm_bias});
    return gradients;
  }

 private:
  struct LayerGradients {
    at::Tensor weight, norm_weight, norm_bias;
  };

  static const T* data(const at::Tensor& tensor) { return tensor.const_data_ptr<T>(); }

  NormGradient<T> settle(const SavedLayer& layer, const GradientSums& sums, LayerGradients& out) const {
    NormGradient<T> gradient(sums, NormStatistics(layer.statistics), layer.norm_weight, reducer_);
    out.norm_weight = gradient.weight;
    out.norm_bias = gradient.bias;
    return gradient;
  }

  void project(const at::Tensor& dy, const GradientSums& sums) {
    const NormGradient<T> gradient = settle(saved_.project, sums, project_);
    const auto before = saved_.depthwise.template coefficients<T>(Activation::relu6);
    dfiltered_ = empty_images(dy, ImageShape(saved_.depthwise.output));
    auto result = pointwise_backward<T>(
        {ImageShape(dy).rows(), saved_.project.weight, data(saved_.depthwise.output), &before}, data(dy),
        data(saved_.project.output), gradient, nullptr, dfiltered_.mutable_data_ptr<T>());
    project_.weight = result.weight;
    filtered_sums_ = std::move(result.before);
  }

  at::Tensor depthwise() {
    const NormGradient<T> gradient = settle(saved_.depthwise, filtered_sums_, depthwise_);
    std::optional<NormCoefficients<T>> before;
    if (saved_.expands()) before = saved_.expand.template coefficients<T>(Activation::relu6);
    const at::Tensor& x = saved_.expands() ? saved_.expand.output : saved_.input;
    const ImageShape shape(x);
    at::Tensor dx = empty_images(x, shape);
    auto result =
        depthwise_backward<T>({shape.images, shape.height, shape.width, shape.channels, stride_,
                               saved_.depthwise.weight, data(x), before ? &*before : nullptr},
                              data(dfiltered_), data(saved_.depthwise.output), gradient, dx.mutable_data_ptr<T>());
    dfiltered_.reset();
    depthwise_.weight = result.weight;
    expanded_sums_ = std::move(result.before);
    return dx;
  }

  at::Tensor expand(const at::Tensor& dexpanded, const at::Tensor& dy) {
    const NormGradient<T> gradient = settle(saved_.expand, expanded_sums_, expand_);
    const ImageShape shape(saved_.input);
    at::Tensor dinput = empty_images(saved_.input, shape);
    auto result = pointwise_backward<T>({shape.rows(), saved_.expand.weight, data(saved_.input), nullptr},
                                        data(dexpanded), data(saved_.expand.output), gradient,
                                        adds_input_ ? data(dy) : nullptr, dinput.mutable_data_ptr<T>());
    expand_.weight = result.weight;
    return dinput;
  }

  at::Tensor plus_residual(at::Tensor dinput, const at::Tensor& dy) const {
    if (adds_input_) dinput.add_(dy);
    return dinput;
  }

  const SavedBlock& saved_;
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
    SavedBlock saved;
    saved.input = x;
    at::Tensor y;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "fused_inverted_residual",
                               [&] { y = Forward<scalar_t>(*block, *norm_context, saved).run(); });
    context->save_for_backward(saved.tensors());
    context->saved_data["stride"] = block->depthwise.convolution.stride;
    context->saved_data["adds_input"] = block->adds_input();
    context->saved_data["reducer"] = reinterpret_cast<std::int64_t>(norm_context->reducer);
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const SavedBlock saved = SavedBlock::of(context->get_saved_variables());
    const std::int64_t stride = context->saved_data["stride"].toInt();
    const bool adds_input = context->saved_data["adds_input"].toBool();
    auto* reducer = reinterpret_cast<StatisticsReducer*>(context->saved_data["reducer"].toInt());
    const at::Tensor dy = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    variable_list result;
    AT_DISPATCH_FLOATING_TYPES(dy.scalar_type(), "fused_inverted_residual_backward",
                               [&] { result = Backward<scalar_t>(saved, stride, adds_input, reducer).run(dy); });
    result.resize(12);  // block and norm_context have none
    return result;
  }
};

}  // namespace

bool can_fuse(const at::Tensor& x, const InvertedResidual& block, const NormContext& context) {
  const at::ScalarType dtype = x.scalar_type();
  return context.kernels == Kernels::automatic && x.device().is_cpu() &&
         (dtype == at::kFloat || dtype == at::kDouble) && block.depthwise.weight.scalar_type() == dtype &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast);
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
