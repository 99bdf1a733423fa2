#pragma once
/// \file The values of tensors as the kernels' storage types.

#include <type_traits>
#include <utility>

#include <ATen/core/Tensor.h>

#include "nn/cpu/Storage.hpp"

namespace multicard {

/// The tensor's dtype must be that of S.
template <typename S>
const S* values_of(const at::Tensor& tensor) {
  if constexpr (std::is_same_v<S, Bfloat16>)
    return reinterpret_cast<const Bfloat16*>(tensor.const_data_ptr<at::BFloat16>());
  else
    return tensor.const_data_ptr<S>();
}

template <typename S>
S* mutable_values_of(const at::Tensor& tensor) {
  if constexpr (std::is_same_v<S, Bfloat16>)
    return reinterpret_cast<Bfloat16*>(tensor.mutable_data_ptr<at::BFloat16>());
  else
    return tensor.mutable_data_ptr<S>();
}

/// Whether the CPU path has kernels for activations of this type with parameters of that one.
inline bool has_cpu_kernels(at::ScalarType activations, at::ScalarType parameters) {
  const bool is_own_type = activations == at::kFloat || activations == at::kDouble;
  return is_own_type ? parameters == activations : activations == at::kBFloat16 && parameters == at::kFloat;
}

/// Calls body.operator()<S>() with the storage type of a dtype that has_cpu_kernels().
template <typename Body>
decltype(auto) with_storage(at::ScalarType dtype, const Body& body) {
  if (dtype == at::kDouble) return body.template operator()<double>();
  if (dtype == at::kBFloat16) return body.template operator()<Bfloat16>();
  return body.template operator()<float>();
}

}  // namespace multicard
