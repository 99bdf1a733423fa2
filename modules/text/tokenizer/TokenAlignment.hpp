#pragma once
/// \file Which tokens cover a part of a text.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer/TokenizerParts.hpp"
#include "text/unicode/TextRange.hpp"

namespace multicard {

/// Appends to `marks` a 1 for each token of `ids` that has a character in one of `ranges`, else a 0. The tokens are
/// those of the text between two added tokens, after normalising it.
void mark_tokens(const TokenizerParts& parts, std::string_view normalized, std::span<const TokenId> ids,
                 std::span<const TextRange> ranges, std::vector<std::uint8_t>& marks);

/// The parts of `ranges` within text[offset, offset + text.size()), as places in what normalising has made of the text.
std::vector<TextRange> ranges_within(const TokenizerParts& parts, std::string_view text, std::string_view normalized,
                                     std::size_t offset, std::span<const TextRange> ranges);

}  // namespace multicard
