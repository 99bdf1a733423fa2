#pragma once
/// \file What is chosen and kept when gradients are compressed.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

struct CompressionOptions {
  std::int64_t rank = 0;        ///< of PowerSGD's factors; 0: gradients are not compressed
  std::int64_t start_step = 0;  ///< the first step whose gradients are compressed
  bool may_skip = false;  ///< steps may be taken back (GradientReducer::settle), which costs a second error memory
};

/// What a compressed parameter carries from step to step.
struct CompressionState {
  std::size_t parameter = 0;  ///< its number
  at::Tensor error;           ///< shape of the parameter; after GradientReducer::spread_error() the sum over ranks
  at::Tensor q;               ///< [sizes(1...), rank], equal on all ranks
};

/// Bytes that a rank holds to compress gradients of these shapes: the error, the factors and what is sent with them.
std::int64_t compression_bytes(const std::vector<at::Tensor>& gradients, const CompressionOptions& options);

/// Bytes of a step's all-reduces of gradients of these shapes; gaps between those of buckets that hold nothing
/// compressed are left out. \param element bytes that a value takes on its way; 0: its type
std::int64_t compressed_bytes(const std::vector<at::Tensor>& gradients, std::int64_t rank, std::int64_t element);

}  // namespace multicard
