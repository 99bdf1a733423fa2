#include "nn/language/SwiGlu.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <torch/csrc/autograd/custom_function.h>

#include "kernels/OperatorScope.hpp"
#include "kernels/TokenPath.hpp"
#include "kernels/cpu/TokenRows.hpp"

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Gate and up in the type of the arithmetic.
struct Halves {
  at::Tensor gate, up;

  explicit Halves(const at::Tensor& both)
      : gate(both.narrow(1, 0, both.size(1) / 2).to(wide_dtype(both))),
        up(both.narrow(1, both.size(1) / 2, both.size(1) / 2).to(wide_dtype(both))) {}
};

at::Tensor gated_by_aten(const at::Tensor& both) {
  const Halves x(both);
  return (at::silu(x.gate) * x.up).to(both.scalar_type());
}

at::Tensor gated_by_rows(const at::Tensor& both) {
  const std::int64_t size = both.size(1) / 2;
  at::Tensor y = at::empty({both.size(0), size}, both.options());
  with_storage(both.scalar_type(), [&]<typename S>() {
    for_token_rows(both.size(0), [&](std::int64_t first, std::int64_t rows) {
      token_kernels<S>().swiglu(values_of<S>(both) + first * 2 * size, rows, size,
                                mutable_values_of<S>(y) + first * size);
    });
  });
  return y;
}

// With s = sigmoid(gate): silu' = s (1 + gate (1 - s)). s is computed again from what was kept, which is the input
// alone.
at::Tensor gradient_by_aten(const at::Tensor& dy, const at::Tensor& both) {
  const Halves x(both);
  const at::Tensor g = dy.to(wide_dtype(both)), open = x.gate.sigmoid();
  at::Tensor result = at::empty_like(both);
  const std::int64_t size = both.size(1) / 2;
  result.narrow(1, 0, size).copy_(g * x.up * open * (1 + x.gate * (1 - open)));
  result.narrow(1, size, size).copy_(g * x.gate * open);
  return result;
}

at::Tensor gradient_by_rows(const at::Tensor& dy, const at::Tensor& both) {
  const std::int64_t size = both.size(1) / 2;
  at::Tensor result = at::empty_like(both);
  with_storage(both.scalar_type(), [&]<typename S>() {
    for_token_rows(both.size(0), [&](std::int64_t first, std::int64_t rows) {
      token_kernels<S>().swiglu_gradient(values_of<S>(dy) + first * size, values_of<S>(both) + first * 2 * size, rows,
                                         size, mutable_values_of<S>(result) + first * 2 * size);
    });
  });
  return result;
}

class SwiGlu : public torch::autograd::Function<SwiGlu> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_and_up, TokenPath path) {
    const OperatorScope scope("multicard::swiglu");
    const at::Tensor both = gate_and_up.contiguous();
    context->save_for_backward({both});
    context->saved_data["path"] = static_cast<std::int64_t>(path);
    if (path == TokenPath::cuda) return cuda_swiglu(both);
    return path == TokenPath::cpu ? gated_by_rows(both) : gated_by_aten(both);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor both = context->get_saved_variables()[0];
    const auto path = static_cast<TokenPath>(context->saved_data["path"].toInt());
    if (path == TokenPath::aten) return {gradient_by_aten(gradients[0], both), {}};
    const at::Tensor dy = gradients[0].contiguous();
    return {path == TokenPath::cuda ? cuda_swiglu_gradient(dy, both) : gradient_by_rows(dy, both), {}};
  }
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate_and_up, Kernels kernels) {
  return SwiGlu::apply(gate_and_up, token_path(gate_and_up, kernels));
}

}  // namespace multicard
