#include "io/Hyperslab.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace multicard {

namespace {

std::uint64_t product(Extents::const_iterator begin, Extents::const_iterator end) {
  return std::accumulate(begin, end, std::uint64_t{1}, std::multiplies<>());
}

}  // namespace

std::uint64_t Hyperslab::num_elements() const {
  return product(count.begin(), count.end());
}

HyperslabPieces::HyperslabPieces(Hyperslab whole, std::uint64_t element_bytes, std::uint64_t piece_bytes)
    : whole_(std::move(whole)) {
  const Extents& count = whole_.count;
  if (whole_.num_elements() == 0) return;
  const auto bytes_inside = [&](std::size_t axis) {
    return product(count.begin() + static_cast<std::ptrdiff_t>(axis) + 1, count.end()) * element_bytes;
  };
  // The outermost axis of which one index, with all that lies inside it, fits into a piece; a piece then has as many
  // indices of it as fit. Each is a run of the block's memory, since everything inside that axis is whole.
  while (axis_ + 1 < count.size() && bytes_inside(axis_) > piece_bytes)
    ++axis_;
  rows_ = std::clamp<std::uint64_t>(piece_bytes / bytes_inside(axis_), 1, count[axis_]);
  per_index_ = (count[axis_] + rows_ - 1) / rows_;
  num_pieces_ = per_index_ * product(count.begin(), count.begin() + static_cast<std::ptrdiff_t>(axis_));
}

Hyperslab HyperslabPieces::piece(std::uint64_t index) const {
  Hyperslab piece = whole_;
  // The number of a piece in mixed radix: the lowest digit counts pieces along the axis, the others are indices of the
  // axes before it, the innermost first.
  const std::uint64_t first = index % per_index_ * rows_;
  piece.start[axis_] += first;
  piece.count[axis_] = std::min(rows_, whole_.count[axis_] - first);
  std::uint64_t rest = index / per_index_;
  for (std::size_t axis = axis_; axis-- > 0;) {
    piece.start[axis] += rest % whole_.count[axis];
    piece.count[axis] = 1;
    rest /= whole_.count[axis];
  }
  return piece;
}

}  // namespace multicard
