#include "kernels/cpu/CpuNorm.hpp"

#include <optional>

#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/OperatorScope.hpp"
#include "kernels/SavedPointer.hpp"
#include "kernels/cpu/ImageLayout.hpp"
#include "kernels/cpu/NormPlanes.hpp"
#include "kernels/cpu/NormRows.hpp"
#include "kernels/cpu/TensorValues.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Images in one of the two memory formats, without gaps.
template <typename S>
class Images {
 public:
  explicit Images(const at::Tensor& x)
      : has_rows_(x.is_contiguous(at::MemoryFormat::ChannelsLast)),
        planes_{x.size(0), x.size(1), x.size(2) * x.size(3)} {}

  ChannelMoments moments(const S* x) const {
    return has_rows_ ? channel_moments(x, rows(), planes_.channels) : plane_moments(x, planes_);
  }
  void normalise(const S* x, const NormCoefficients<Compute<S>>& norm, const S* residual, S* y) const {
    has_rows_ ? normalise_rows(x, rows(), norm, residual, y) : normalise_planes(x, planes_, norm, residual, y);
  }
  GradientSums gradient_sums(const S* dy, const S* x, const NormCoefficients<Compute<S>>& norm) const {
    return has_rows_ ? norm_gradient_sums(dy, x, rows(), norm) : plane_gradient_sums(dy, x, planes_, norm);
  }
  void input_gradient(const S* dy, const S* x, const NormCoefficients<Compute<S>>& norm,
                      const NormGradient<Compute<S>>& gradient, S* dx) const {
    has_rows_ ? norm_input_gradient(dy, x, rows(), norm, gradient, dx)
              : plane_input_gradient(dy, x, planes_, norm, gradient, dx);
  }

 private:
  std::int64_t rows() const { return planes_.images * planes_.size; }
  bool has_rows_;
  PlaneShape planes_;
};

template <typename S>
at::Tensor forward_of(const at::Tensor& x, const NormTensors& norm, const NormContext& context, Activation activation,
                      const S* residual, at::Tensor& statistics) {
  const Images<S> images(x);
  const S* values = values_of<S>(x);
  const ChannelMoments moments = context.uses_batch() ? images.moments(values) : ChannelMoments(0);
  const NormStatistics used = NormStatistics::of(context, moments, norm);
  at::Tensor y = at::empty_like(x);
  images.normalise(values, NormCoefficients<Compute<S>>(used, norm.weight, norm.bias, activation), residual,
                   mutable_values_of<S>(y));
  statistics = used.saved();
  return y;
}

// Which gradients autograd asks for.
struct Needs {
  bool x, weight, bias;
};

template <typename S>
variable_list backward_of(const at::Tensor& dy, const variable_list& saved, const Needs& needs, Activation activation,
                          StatisticsReducer* reducer) {
  const at::Tensor &x = saved[0], &weight = saved[1];
  const NormStatistics statistics(saved[3]);
  const NormCoefficients<Compute<S>> norm(statistics, weight, saved[2], activation);
  const Images<S> images(x);
  const S *dvalues = values_of<S>(dy), *values = values_of<S>(x);
  // With frozen statistics the gradient of x needs no sums: a pass over both tensors is saved where only x wants one.
  const bool needs_sums = needs.weight || needs.bias || statistics.follows_batch();
  const NormGradient<Compute<S>> gradient(
      needs_sums ? images.gradient_sums(dvalues, values, norm) : GradientSums(statistics.channels()), statistics,
      weight, reducer);
  at::Tensor dx;
  if (needs.x) {
    dx = at::empty_like(x);
    images.input_gradient(dvalues, values, norm, gradient, mutable_values_of<S>(dx));
  }
  return {dx, needs.weight ? gradient.weight : at::Tensor(), needs.bias ? gradient.bias : at::Tensor()};
}

class CpuNorm : public torch::autograd::Function<CpuNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& images, const at::Tensor& weight,
                            const at::Tensor& bias, const std::optional<at::Tensor>& residual, const NormTensors& norm,
                            const NormContext* norm_context, Activation activation) {
    const OperatorScope scope("multicard::batch_norm");
    const at::MemoryFormat layout = layout_of(images);
    const at::Tensor x = in_layout(images, layout);
    const at::Tensor added = residual ? in_layout(*residual, layout) : at::Tensor();
    at::Tensor y, statistics;
    with_storage(x.scalar_type(), [&]<typename S>() {
      y = forward_of<S>(x, norm, *norm_context, activation, residual ? values_of<S>(added) : nullptr, statistics);
    });
    context->save_for_backward({x, weight, bias, statistics});
    context->saved_data["activation"] = static_cast<std::int64_t>(activation);
    // Not owned: the reducer belongs to the network's context and lives longer than any graph.
    context->saved_data["reducer"] = saved_value(norm_context->reducer);
    context->saved_data["adds"] = residual.has_value();
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const auto activation = static_cast<Activation>(context->saved_data["activation"].toInt());
    // Autograd keeps numbers, not pointers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* reducer = saved_pointer<StatisticsReducer>(context->saved_data["reducer"]);
    const at::Tensor dy = in_layout(gradients[0], layout_of(saved[0]));
    const Needs needs{context->needs_input_grad(0), context->needs_input_grad(1), context->needs_input_grad(2)};
    variable_list result;
    with_storage(dy.scalar_type(),
                 [&]<typename S>() { result = backward_of<S>(dy, saved, needs, activation, reducer); });
    if (context->saved_data["adds"].toBool()) result.push_back(dy);
    result.resize(7);  // norm, norm_context and activation have none
    return result;
  }
};

}  // namespace

bool can_use_cpu_norm(const at::Tensor& x, const NormTensors& norm, const NormContext& context) {
  return context.kernels == Kernels::automatic && x.device().is_cpu() &&
         has_cpu_kernels(x.scalar_type(), norm.weight.scalar_type());
}

at::Tensor cpu_norm(const at::Tensor& x, const NormTensors& norm, const NormContext& context, Activation activation,
                    const at::Tensor& residual) {
  const auto added = residual.defined() ? std::optional<at::Tensor>(residual) : std::nullopt;
  return CpuNorm::apply(x, norm.weight, norm.bias, added, norm, &context, activation);
}

}  // namespace multicard
