#include "nn/SwiGlu.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sigmoid.h>
#include <torch/csrc/autograd/custom_function.h>

namespace multicard {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::ScalarType wide_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

class SwiGlu : public torch::autograd::Function<SwiGlu> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_and_up) {
    context->save_for_backward({gate_and_up});
    const at::ScalarType wide = wide_dtype(gate_and_up);
    const std::int64_t size = gate_and_up.size(1) / 2;
    const at::Tensor gate = gate_and_up.narrow(1, 0, size).to(wide), up = gate_and_up.narrow(1, size, size).to(wide);
    return (gate * gate.sigmoid() * up).to(gate_and_up.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const at::Tensor gate_and_up = context->get_saved_variables()[0];
    const at::ScalarType wide = wide_dtype(gate_and_up);
    const std::int64_t size = gate_and_up.size(1) / 2;
    const at::Tensor gate = gate_and_up.narrow(1, 0, size).to(wide), up = gate_and_up.narrow(1, size, size).to(wide);
    const at::Tensor dy = gradients[0].to(wide), sigmoid = gate.sigmoid();
    at::Tensor result = at::empty_like(gate_and_up);
    result.narrow(1, 0, size).copy_(dy * up * sigmoid * (1 + gate * (1 - sigmoid)));
    result.narrow(1, size, size).copy_(dy * gate * sigmoid);
    return {result};
  }
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate_and_up) {
  return SwiGlu::apply(gate_and_up);
}

}  // namespace multicard
