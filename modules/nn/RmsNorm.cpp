#include "nn/RmsNorm.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <torch/csrc/autograd/custom_function.h>

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::ScalarType wide_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

class AddRmsNorm : public torch::autograd::Function<AddRmsNorm> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const std::optional<at::Tensor>& delta,
                               const at::Tensor& weight, double epsilon) {
    const at::Tensor stream = delta ? x + *delta : x.view_as(x);
    const at::ScalarType wide = wide_dtype(x);
    const at::Tensor values = stream.to(wide);
    const at::Tensor scale = (values.square().mean({1}, /*keepdim=*/true) + epsilon).rsqrt();
    const at::Tensor normed = (values * scale * weight.to(wide)).to(x.scalar_type());
    context->save_for_backward({stream, scale, weight});
    context->saved_data["has_delta"] = delta.has_value();
    context->set_materialize_grads(false);
    return {stream, normed};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &stream = saved[0], &scale = saved[1], &weight = saved[2];
    const bool has_delta = context->saved_data["has_delta"].toBool();
    const std::size_t weight_edge = has_delta ? 2 : 1;  // what is not there has no edge
    at::Tensor dstream = gradients[0], dweight;
    if (gradients[1].defined()) {
      const at::ScalarType wide = wide_dtype(stream);
      const at::Tensor xhat = stream.to(wide) * scale, dnormed = gradients[1].to(wide);
      if (context->needs_input_grad(weight_edge)) dweight = (dnormed * xhat).sum({0}).to(weight.scalar_type());
      const at::Tensor g = dnormed * weight.to(wide);
      at::Tensor dx = scale * (g - xhat * (g * xhat).mean({1}, /*keepdim=*/true));
      if (dstream.defined()) dx = dx + dstream.to(wide);
      dstream = dx.to(stream.scalar_type());
    }
    return {dstream, has_delta ? dstream : at::Tensor(), dweight, {}};
  }
};

}  // namespace

Normed add_rms_norm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double epsilon) {
  const auto optional = delta.defined() ? std::optional<at::Tensor>(delta) : std::nullopt;
  const variable_list results = AddRmsNorm::apply(x, optional, weight, epsilon);
  return {results[0], results[1]};
}

}  // namespace multicard
