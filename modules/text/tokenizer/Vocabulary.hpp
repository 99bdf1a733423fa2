#pragma once
/// \file Texts and their ids.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {

/// A set of tokens, found by text or by id. Ids may leave gaps.
class Vocabulary {
 public:
  /// What no model comes near; a larger id in a file means that the file is damaged.
  static constexpr TokenId kLargestId = 1 << 24;

  /// False if the text or the id is taken.
  bool add(std::string_view text, TokenId id);
  std::optional<TokenId> find(std::string_view text) const;
  bool has(TokenId id) const { return id < places_.size() && places_[id].is_taken; }
  /// Empty for an unknown id.
  std::string_view text(TokenId id) const;
  /// One more than the largest id.
  std::size_t end_id() const { return places_.size(); }

 private:
  struct Place {
    std::size_t begin = 0;
    std::uint32_t length = 0;
    bool is_taken = false;
  };
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = kFree;
  };
  static constexpr TokenId kFree = ~TokenId{0};

  void grow();
  /// The slot that holds `text`, or the free one where it belongs.
  std::size_t slot_of(std::string_view text, std::uint32_t hash) const;

  std::string texts_;  ///< all of them in a row
  std::vector<Place> places_;
  std::vector<Slot> slots_;  ///< open addressing, a power of two
  std::size_t num_tokens_ = 0;
};

}  // namespace multicard
