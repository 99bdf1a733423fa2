#pragma once
/// \file The outline of a row of text.

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace multicard {

/// What all ranks know of one row without reading it.
struct RowShape {
  std::vector<std::int64_t> lengths;  ///< tokens of each sequence in the row, in order (one without packing)
  std::int64_t num_targets = 0;       ///< tokens of the row that are predicted and count in the loss

  std::int64_t num_tokens() const { return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}); }
  friend bool operator==(const RowShape&, const RowShape&) = default;
};

/// Predicted tokens of all rows.
inline std::int64_t num_targets(std::span<const RowShape> shapes) {
  return std::accumulate(shapes.begin(), shapes.end(), std::int64_t{0},
                         [](std::int64_t sum, const RowShape& shape) { return sum + shape.num_targets; });
}

}  // namespace multicard
