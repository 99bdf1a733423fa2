#include "io/Hyperslab.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

/// The indices that a block covers in a dataset with these extents, in the order of its memory.
void append_indices(const Hyperslab& block, const Extents& dims, std::vector<std::uint64_t>& out) {
  for (std::uint64_t flat = 0; flat < block.num_elements(); ++flat) {
    std::uint64_t rest = flat, index = 0, stride = 1;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      index += (block.start[axis] + rest % block.count[axis]) * stride;
      rest /= block.count[axis];
      stride *= dims[axis];
    }
    out.push_back(index);
  }
}

TEST(HyperslabPieces, CoverTheBlockInTheOrderOfItsMemory) {
  const Extents dims{5, 7, 6};
  const Hyperslab block{{1, 2, 1}, {4, 3, 5}};
  std::vector<std::uint64_t> expected;
  append_indices(block, dims, expected);

  for (const std::uint64_t piece_bytes : {1, 8, 12, 20, 36, 60, 61, 120, 239, 240, 1000}) {
    const HyperslabPieces pieces(block, 4, piece_bytes);
    std::vector<std::uint64_t> found;
    for (std::uint64_t i = 0; i < pieces.size(); ++i) {
      append_indices(pieces.piece(i), dims, found);
      EXPECT_LE(pieces.piece(i).num_elements() * 4, std::max<std::uint64_t>(piece_bytes, 4));
    }
    EXPECT_EQ(found, expected) << piece_bytes;
  }
}

TEST(HyperslabPieces, AreOneWhenTheBlockFits) {
  EXPECT_EQ(HyperslabPieces({{0}, {1000}}, 8, 8000).size(), 1U);
  EXPECT_EQ(HyperslabPieces({{0}, {1000}}, 8, 7999).size(), 2U);
}

TEST(HyperslabPieces, AreNoneOfAnEmptyBlock) {
  EXPECT_EQ(HyperslabPieces({{3, 0}, {0, 5}}, 8, 100).size(), 0U);
}

}  // namespace
}  // namespace multicard
