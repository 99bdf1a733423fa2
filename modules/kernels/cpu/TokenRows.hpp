#pragma once
/// \file Rows of tokens shared out among threads, for the token kernels.

#include <algorithm>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include "kernels/cpu/TensorValues.hpp"
#include "kernels/cpu/TokenKernels.hpp"

namespace multicard {

/// The type that norms, activations and losses of x are computed in.
inline at::ScalarType wide_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Calls body(first, rows) for parts of `rows` rows, in parallel.
template <typename Body>
void for_token_rows(std::int64_t num_rows, const Body& body) {
  constexpr std::int64_t kFewest = 16;
  at::parallel_for(0, num_rows, kFewest, [&](std::int64_t first, std::int64_t end) { body(first, end - first); });
}

}  // namespace multicard
