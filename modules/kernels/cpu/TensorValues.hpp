#pragma once
/// \file The values of tensors as the kernels' storage types.

#include <ATen/core/Tensor.h>

#include "kernels/cpu/Storage.hpp"

namespace multicard {

template <typename S>
struct TensorValue {
  using Type = S;
};
template <>
struct TensorValue<Bfloat16> {
  using Type = at::BFloat16;
};
template <>
struct TensorValue<Float16> {
  using Type = at::Half;
};

/// The tensor's dtype must be that of S.
template <typename S>
const S* values_of(const at::Tensor& tensor) {
  return reinterpret_cast<const S*>(tensor.const_data_ptr<typename TensorValue<S>::Type>());
}

template <typename S>
S* mutable_values_of(const at::Tensor& tensor) {
  return reinterpret_cast<S*>(tensor.mutable_data_ptr<typename TensorValue<S>::Type>());
}

/// Whether the CPU path has kernels for activations of this type with parameters of that one.
inline bool has_cpu_kernels(at::ScalarType activations, at::ScalarType parameters) {
  const bool is_own_type = activations == at::kFloat || activations == at::kDouble;
  const bool has_16_bits = activations == at::kBFloat16 || activations == at::kHalf;
  return is_own_type ? parameters == activations : has_16_bits && parameters == at::kFloat;
}

/// Calls body.operator()<S>() with the storage type of a dtype that has_cpu_kernels().
template <typename Body>
decltype(auto) with_storage(at::ScalarType dtype, const Body& body) {
  if (dtype == at::kDouble) return body.template operator()<double>();
  if (dtype == at::kBFloat16) return body.template operator()<Bfloat16>();
  if (dtype == at::kHalf) return body.template operator()<Float16>();
  return body.template operator()<float>();
}

}  // namespace multicard
