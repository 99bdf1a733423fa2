#pragma once
/// \file Convolutions and matmuls of float16 on the CPU by way of float32: LibTorch's own are tens of times slower.

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

namespace multicard {

/// Whether an operation that autocast gives its type would compute `x` in float16 on the CPU.
inline bool computes_half_on_cpu(const at::Tensor& x) {
  if (!x.device().is_cpu()) return false;
  if (!at::autocast::is_autocast_enabled(at::kCPU)) return x.scalar_type() == at::kHalf;
  return at::autocast::get_autocast_dtype(at::kCPU) == at::kHalf && x.scalar_type() != at::kDouble;
}

/// operation(values...) of values rounded to float16, computed in float32 and rounded once; so are gradients.
template <typename Operation, typename... Tensors>
at::Tensor rounded_to_half(const Operation& operation, const Tensors&... values) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  return operation(values.to(at::kHalf).to(at::kFloat)...).to(at::kHalf);
}

}  // namespace multicard
