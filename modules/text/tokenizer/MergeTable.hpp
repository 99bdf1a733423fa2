#pragma once
/// \file Which pairs of tokens merge, and the merging of a word.

#include <cstdint>
#include <span>
#include <vector>

#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {

/// The merges of a byte-pair encoding.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank;  ///< smaller ones first
    TokenId product;
  };

  void reserve(std::size_t num_merges);
  /// A pair that is there already gets the new rank and product.
  void set(TokenId left, TokenId right, Merge merge);
  /// nullptr for a pair that does not merge.
  const Merge* find(TokenId left, TokenId right) const;

  /// Merges neighbours in `word`, always the pair of the smallest rank and among these the leftmost, until none is
  /// left, and appends the result. O(n log n) for n tokens.
  void merge(std::span<const TokenId> word, std::vector<TokenId>& out) const;

 private:
  struct Slot {
    std::uint64_t pair = kFree;
    Merge merge{};
  };
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  void grow(std::size_t num_slots);
  std::size_t slot_of(std::uint64_t pair) const;
  void merge_short(std::span<const TokenId> word, std::vector<TokenId>& out) const;
  void merge_long(std::span<const TokenId> word, std::vector<TokenId>& out) const;

  std::vector<Slot> slots_;  ///< open addressing, a power of two
  std::size_t num_merges_ = 0;
  int shift_ = 64;
};

}  // namespace multicard
