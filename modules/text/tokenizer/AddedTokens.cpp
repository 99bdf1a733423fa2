#include "text/tokenizer/AddedTokens.hpp"

#include <algorithm>

#include "base/Utf8.hpp"
#include "text/regex/Regex.hpp"
#include "text/unicode/Unicode.hpp"

namespace multicard {

namespace {

// "single_word" goes by \w of Rust's regex crate. Oniguruma's, which the patterns of pre-tokenizers go by, lacks the
// joiners.
bool is_word_character(std::string_view character) {
  static const Regex pattern(std::string("^[") + kRustWordCharacters + "]");
  return pattern.find(character, 0).has_value();
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word_character(text.substr(begin_of_last_character(text)));
}

bool starts_with_word(std::string_view text) {
  return !text.empty() && is_word_character(text.substr(0, utf8_length(text[0])));
}

/// Where the white space at the end of text[0, end) begins, but not before `lowest`.
std::size_t begin_of_space(std::string_view text, std::size_t end, std::size_t lowest) {
  while (end > lowest) {
    const std::size_t begin = begin_of_last_character(text.substr(0, end));
    std::size_t at = begin;
    if (begin < lowest || !is_white_space(next_character(text, at))) break;
    end = begin;
  }
  return end;
}

std::size_t end_of_space(std::string_view text, std::size_t begin) {
  while (begin < text.size()) {
    std::size_t at = begin;
    if (!is_white_space(next_character(text, at))) break;
    begin = at;
  }
  return begin;
}

}  // namespace

// A trie over bytes: leftmost and longest is what the library's automaton finds, so that of <|a|> and <|a|>b the longer
// one counts whatever their order in the file. The flags for first bytes let find() skip nearly all of an ordinary
// text. No token in a file is longer than 1024 bytes, which bounds what a hostile file makes of restarting at each
// byte.
void TokenFinder::add(const std::string& text, const AddedToken* token) {
  if (text.empty()) return;
  if (nodes_.empty()) nodes_.emplace_back();
  std::uint32_t at = 0;
  for (const char character : text) {
    const auto [place, is_new] =
        nodes_[at].next.try_emplace(static_cast<unsigned char>(character), static_cast<std::uint32_t>(nodes_.size()));
    at = place->second;
    if (is_new) nodes_.emplace_back();
  }
  if (!nodes_[at].token) nodes_[at].token = token;
  begins_[static_cast<unsigned char>(text[0])] = true;
}

std::optional<TokenFinder::Found> TokenFinder::find(std::string_view text, std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_[static_cast<unsigned char>(text[begin])]) continue;
    std::optional<Found> longest;
    std::uint32_t node = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
      const auto next = nodes_[node].next.find(static_cast<unsigned char>(text[at]));
      if (next == nodes_[node].next.end()) break;
      node = next->second;
      if (nodes_[node].token) longest = {begin, at + 1, nodes_[node].token};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

std::vector<TextSegment> split_at_tokens(std::string_view text, const TokenFinder& finder) {
  std::vector<TextSegment> segments;
  std::size_t done = 0, from = 0;
  while (!finder.is_empty() && from < text.size()) {
    std::optional<TokenFinder::Found> found = finder.find(text, from);
    if (!found) break;
    from = found->end;  // the library looks for tokens before any takes white space, and also in what one takes
    const AddedToken& token = *found->token;
    if (token.is_single_word &&
        (ends_with_word(text.substr(0, found->begin)) || starts_with_word(text.substr(found->end))))
      continue;
    if (token.strips_left) found->begin = std::max(done, begin_of_space(text, found->begin, done));
    if (token.strips_right) found->end = end_of_space(text, found->end);
    if (found->begin >= found->end) continue;  // another token has taken it as white space
    if (done < found->begin) segments.push_back({text.substr(done, found->begin - done), nullptr});
    segments.push_back({text.substr(found->begin, found->end - found->begin), &token});
    done = found->end;
  }
  if (done < text.size()) segments.push_back({text.substr(done), nullptr});
  return segments;
}

}  // namespace multicard
