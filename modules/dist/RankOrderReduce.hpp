#pragma once
/// \file The arithmetic of reducing in rank order; for modules/dist only.

#include <cstddef>
#include <span>

#include <c10/core/ScalarType.h>

#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Elements [begin, end) of sources[0] + sources[1] + ... in this order, written to all targets. Targets may be
/// sources. \param type float32, float64, or bfloat16, which is added in float32 and rounded once
/// \param comm_dtype for float32: sources and sum are rounded to it
void reduce_in_rank_order(std::span<std::byte* const> sources, std::span<std::byte* const> targets, std::size_t begin,
                          std::size_t end, at::ScalarType type, CommDtype comm_dtype = CommDtype::same);

}  // namespace multicard
