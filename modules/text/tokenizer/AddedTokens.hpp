#pragma once
/// \file Tokens that are found in a text before it is split into words.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool is_special = false;
  bool is_single_word = false;  ///< only where no letter or digit touches it
  bool strips_left = false;     ///< takes the white space in front of it
  bool strips_right = false;
  bool is_normalized = false;  ///< looked for in the normalised text, as its normalised content
  std::string text = {};       ///< what it is looked for as and decoded to
  bool is_skipped = false;     ///< left out when special tokens are
};

/// Finds the longest of its texts at the first place where one begins.
class TokenFinder {
 public:
  struct Found {
    std::size_t begin, end;
    const AddedToken* token;
  };

  /// The token stays where it is. Of two with the same text the first counts.
  void add(const std::string& text, const AddedToken* token);
  bool is_empty() const { return nodes_.empty(); }
  std::optional<Found> find(std::string_view text, std::size_t from) const;

 private:
  struct Node {
    std::map<unsigned char, std::uint32_t> next;
    const AddedToken* token = nullptr;
  };
  std::vector<Node> nodes_;
  std::array<bool, 256> begins_{};
};

/// A piece of a text: an added token, or text between them.
struct TextSegment {
  std::string_view text;
  const AddedToken* token;  ///< null: text
};

/// Splits a text at the tokens of `finder`, with their rules about what surrounds them; no empty pieces.
std::vector<TextSegment> split_at_tokens(std::string_view text, const TokenFinder& finder);

}  // namespace multicard
