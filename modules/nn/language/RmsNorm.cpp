#include "nn/language/RmsNorm.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rsqrt.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/OperatorScope.hpp"
#include "kernels/TokenPath.hpp"
#include "kernels/cpu/TokenRows.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct NormResult {
  at::Tensor stream, normed, scale;
};

// scale r = (mean(x^2) + epsilon)^(-1/2) is kept for backward: recomputing it would read the stream once more. The
// stream is rounded to its type first and then normalised, as transformers does: the same bits go into the norm and the
// next block.
NormResult normed_by_aten(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double epsilon) {
  const at::Tensor stream = delta.defined() ? x + delta : x.view_as(x);
  const at::ScalarType wide = wide_dtype(x);
  const at::Tensor values = stream.to(wide);
  const at::Tensor scale = (values.square().mean({1}, /*keepdim=*/true) + epsilon).rsqrt();
  return {stream, (values * scale * weight.to(wide)).to(x.scalar_type()), scale};
}

NormResult normed_by_rows(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double epsilon) {
  const at::Tensor wide_weight = weight.to(wide_dtype(x)).contiguous();
  NormResult result{delta.defined() ? at::empty_like(x) : x.view_as(x), at::empty_like(x),
                    at::empty({x.size(0), 1}, wide_weight.options())};
  with_storage(x.scalar_type(), [&]<typename S>() {
    using C = Compute<S>;
    const std::int64_t size = x.size(1);
    for_token_rows(x.size(0), [&](std::int64_t first, std::int64_t rows) {
      const std::int64_t at = first * size;
      token_kernels<S>().add_norm(values_of<S>(x) + at, delta.defined() ? values_of<S>(delta) + at : nullptr,
                                  values_of<C>(wide_weight), rows, size, static_cast<C>(epsilon),
                                  delta.defined() ? mutable_values_of<S>(result.stream) + at : nullptr,
                                  mutable_values_of<S>(result.normed) + at, mutable_values_of<C>(result.scale) + first);
    });
  });
  return result;
}

NormResult normed_by(TokenPath path, const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight,
                     double epsilon) {
  if (path == TokenPath::aten) return normed_by_aten(x, delta, weight, epsilon);
  const at::Tensor rows = x.contiguous(), added = delta.defined() ? delta.contiguous() : delta;
  if (path == TokenPath::cpu) return normed_by_rows(rows, added, weight, epsilon);
  const CudaNormed result = cuda_add_norm(rows, added, weight, epsilon);
  return {result.stream, result.normed, result.scale};
}

/// What backward reads of forward, and the gradient of `normed`; `dstream` may be undefined.
struct NormGradients {
  at::Tensor stream, scale, weight, dnormed, dstream;

  // With xhat = x r and g = dy w: dx = r (g - xhat mean(g xhat)), plus what comes down the residual stream.
  at::Tensor by_aten() const {
    const at::ScalarType wide = wide_dtype(stream);
    const at::Tensor xhat = stream.to(wide) * scale, g = dnormed.to(wide) * weight.to(wide);
    const at::Tensor dx = scale * (g - xhat * (g * xhat).mean({1}, /*keepdim=*/true));
    return (dstream.defined() ? dx + dstream.to(wide) : dx).to(stream.scalar_type());
  }

  at::Tensor by_rows() const {
    const at::Tensor wide_weight = weight.to(wide_dtype(stream)).contiguous();
    const at::Tensor dy = dnormed.contiguous();
    at::Tensor dx = at::empty_like(stream);
    const at::Tensor added = dstream.defined() ? dstream.contiguous() : dstream;
    with_storage(stream.scalar_type(), [&]<typename S>() {
      using C = Compute<S>;
      const std::int64_t size = stream.size(1);
      for_token_rows(stream.size(0), [&](std::int64_t first, std::int64_t rows) {
        const std::int64_t at = first * size;
        token_kernels<S>().norm_gradient(values_of<S>(dy) + at, added.defined() ? values_of<S>(added) + at : nullptr,
                                         values_of<S>(stream) + at, values_of<C>(wide_weight),
                                         values_of<C>(scale) + first, rows, size, mutable_values_of<S>(dx) + at);
      });
    });
    return dx;
  }

  at::Tensor by(TokenPath path) const {
    if (path == TokenPath::aten) return by_aten();
    if (path == TokenPath::cpu) return by_rows();
    return cuda_norm_gradient(dnormed.contiguous(), dstream.defined() ? dstream.contiguous() : dstream, stream, weight,
                              scale);
  }

  // dw = sum over tokens of dy xhat, in float32 at least: thousands of small terms are added.
  at::Tensor of_weight(TokenPath path) const {
    if (path == TokenPath::cuda)
      return cuda_norm_weight_gradient(dnormed.contiguous(), stream, scale).to(weight.scalar_type());
    const at::ScalarType wide = wide_dtype(stream);
    return (dnormed.to(wide) * stream.to(wide) * scale).sum({0}).to(weight.scalar_type());
  }
};

class AddRmsNorm : public torch::autograd::Function<AddRmsNorm> {
 public:
  static variable_list forward(AutogradContext* context, const at::Tensor& x, const std::optional<at::Tensor>& added,
                               const at::Tensor& weight, double epsilon, TokenPath path) {
    const OperatorScope scope("multicard::add_rms_norm");
    const at::Tensor delta = added.value_or(at::Tensor());
    const NormResult result = normed_by(path, x, delta, weight, epsilon);
    context->save_for_backward({result.stream, result.scale, weight});
    context->saved_data["has_delta"] = delta.defined();
    context->saved_data["path"] = static_cast<std::int64_t>(path);
    // The last norm's stream has no use: its gradient stays undefined instead of being a tensor of zeros.
    context->set_materialize_grads(false);
    return {result.stream, result.normed};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const bool has_delta = context->saved_data["has_delta"].toBool();
    const std::size_t weight_edge = has_delta ? 2 : 1;  // what is not there has no edge
    at::Tensor dx = gradients[0], dweight;
    if (gradients[1].defined()) {
      const NormGradients all{saved[0], saved[1], saved[2], gradients[1], gradients[0]};
      const auto path = static_cast<TokenPath>(context->saved_data["path"].toInt());
      dx = all.by(path);
      if (context->needs_input_grad(weight_edge)) dweight = all.of_weight(path);
    }
    return {dx, has_delta ? dx : at::Tensor(), dweight, {}, {}};
  }
};

}  // namespace

Normed add_rms_norm(const at::Tensor& x, const at::Tensor& delta, const at::Tensor& weight, double epsilon,
                    Kernels kernels) {
  const auto added = delta.defined() ? std::optional<at::Tensor>(delta) : std::nullopt;
  const variable_list results = AddRmsNorm::apply(x, added, weight, epsilon, token_path(x, kernels));
  return {results[0], results[1]};
}

}  // namespace multicard
