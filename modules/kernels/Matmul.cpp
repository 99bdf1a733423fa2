#include "kernels/Matmul.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cpu/Utils.h>
#include <ATen/ops/mm.h>

namespace multicard {
namespace {

// AMX multiplies bfloat16 many times as fast as float32, and AMD's AVX-512 twice; Intel's AVX-512 alone half as fast,
// and other instruction sets not at all.
bool has_fast_bfloat16() {
  static const bool value = [] {
    const auto capabilities = at::cpu::get_cpu_capabilities();
    const auto has = [&](const char* name) {
      const auto found = capabilities.find(name);
      return found != capabilities.end() && found->second.toBool();
    };
    return has("amx_bf16") || (has("avx512_bf16") && !__builtin_cpu_is("intel"));
  }();
  return value;
}

using LinearPointwise = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                                   std::string_view, c10::List<std::optional<at::Scalar>>,
                                   std::optional<std::string_view>);

/// oneDNN's matmul of x and the transposed weight.
at::Tensor onednn_matmul(const at::Tensor& x, const at::Tensor& weight) {
  // By its name: LibTorch registers the operator but exports no C++ function for it.
  static const auto handle =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<LinearPointwise>();
  return handle.call(x, weight, std::nullopt, "none", c10::List<std::optional<at::Scalar>>(), "");
}

}  // namespace

at::ScalarType matmul_dtype(at::ScalarType dtype, at::Device device) {
  if (!device.is_cpu() || dtype == at::kDouble) return dtype;
  return dtype == at::kBFloat16 && has_fast_bfloat16() ? dtype : at::kFloat;
}

at::Tensor fast_matmul(const at::Tensor& a, const at::Tensor& b, GemmLibrary library) {
  const bool is_float_on_cpu = a.is_cpu() && a.scalar_type() == at::kFloat;
  if (is_float_on_cpu && a.is_contiguous() && library == GemmLibrary::onednn) return onednn_matmul(a, b.t());
  return at::mm(a, b);
}

void matmul_into(at::Tensor target, const at::Tensor& a, const at::Tensor& b) {
  // mm_out takes one type for all three; and on CPUs the fast product returns a tensor of its own.
  if (!a.is_cpu() && target.scalar_type() == a.scalar_type())
    at::mm_out(target, a, b);
  else
    target.copy_(fast_matmul(a, b));
}

void add_matmul(const at::Tensor& target, const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_cpu() && target.scalar_type() == a.scalar_type())
    target.addmm_(a, b);
  else
    target.add_(at::mm(a, b));
}

}  // namespace multicard
