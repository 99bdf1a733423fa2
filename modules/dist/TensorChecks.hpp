#pragma once
/// \file What all collectives demand of their tensors; for modules/dist only.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// \throws std::invalid_argument naming `operation` unless the tensor is what the operation takes on `device`
/// @{
void check_flat(const at::Tensor& flat, at::Device device, const char* operation);
void check_contiguous(const at::Tensor& tensor, at::Device device, const char* operation);
/// @}

/// The same for scatter_rows; `all` is looked at on the root only.
void check_scatter(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows, int rank,
                   int root);

/// Bytes of one row of `tensor`.
std::int64_t row_bytes(const at::Tensor& tensor);

}  // namespace multicard
