#pragma once
/// \file Blocks of a dataset cut into transfers that MPI-IO can take.

#include <cstdint>

#include "io/Hdf5.hpp"

namespace multicard {

/// A block of elements along each dimension.
struct Hyperslab {
  Extents start, count;

  std::uint64_t num_elements() const;
};

/// Cuts a block into pieces of at most `piece_bytes` (but at least one element) that are, in their order, adjacent in
/// the block's row-major memory.
class HyperslabPieces {
 public:
  HyperslabPieces(Hyperslab whole, std::uint64_t element_bytes, std::uint64_t piece_bytes);

  std::uint64_t size() const { return num_pieces_; }
  Hyperslab piece(std::uint64_t index) const;

 private:
  Hyperslab whole_;
  std::size_t axis_ = 0;         ///< cut along this axis; one index at a time along those before it
  std::uint64_t rows_ = 0;       ///< of the axis in a piece
  std::uint64_t per_index_ = 0;  ///< pieces that cover the axis once
  std::uint64_t num_pieces_ = 0;
};

}  // namespace multicard
