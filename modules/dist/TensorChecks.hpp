#pragma once
/// \file What all collectives demand and count of their tensors; for modules/dist only.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/TensorCollectives.hpp"

namespace multicard {

/// \throws std::invalid_argument naming `operation` unless the tensor is what the operation takes on `device`
/// @{
void check_all_reduce(const at::Tensor& flat, at::Device device, CommDtype comm_dtype, const char* operation);
void check_dense(const at::Tensor& tensor, at::Device device, const char* operation);
/// @}

/// The same for scatter_rows; `all` is looked at on the root only.
void check_scatter(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows, int rank,
                   int root);

/// For all-gathers and reduce-scatters over `num_ranks`.
/// @{
void check_all_gather(const at::Tensor& part, const at::Tensor& whole, at::Device device, int num_ranks);
void check_reduce_scatter(const at::Tensor& flat, at::Device device, CommDtype comm_dtype, int num_ranks);
/// @}

/// Bytes of one row of `tensor`.
std::int64_t row_bytes(const at::Tensor& tensor);

/// Bytes of all tensors.
std::int64_t bytes_of(const std::vector<at::Tensor>& tensors);

/// Bytes that a sum counts as its payload.
std::int64_t all_reduce_bytes(const at::Tensor& flat, CommDtype comm_dtype);

}  // namespace multicard
