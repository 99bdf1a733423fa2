#pragma once
/// \file Cutting rows into consecutive blocks.

#include <algorithm>
#include <cstdint>

namespace multicard {

/// The elements [first, first + count).
struct Block {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// The part-th of `num_parts` consecutive blocks of `total` elements; the first total mod num_parts blocks hold one
/// more.
inline Block block_of(std::int64_t total, std::int64_t part, std::int64_t num_parts) {
  const std::int64_t each = total / num_parts, rest = total % num_parts;
  return {part * each + std::min(part, rest), each + (part < rest ? 1 : 0)};
}

}  // namespace multicard
