#include "text/tokenizer/TokenAlignment.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace multicard {

namespace {

constexpr std::string_view kSpaceMark = "\u2581";

/// An empty token overlaps a range that it stands within.
bool overlaps(const TextRange& token, std::span<const TextRange> ranges) {
  const auto range = first_after(ranges, token.begin);
  return range != ranges.end() && range->begin < std::max(token.begin, token.end);
}

/// The next places of tokens in a text: a token that is not found is looked for once, not once for each unknown one.
class TokenSearch {
 public:
  explicit TokenSearch(std::string_view text) : text_(text) {}

  /// The token's first place from `at` on; `at` never decreases.
  std::size_t next(TokenId id, std::string_view token, std::size_t at) {
    const auto [place, is_new] = places_.try_emplace(id, 0);
    if (is_new || place->second < at) place->second = text_.find(token, at);
    return place->second;
  }

 private:
  std::string_view text_;
  std::unordered_map<TokenId, std::size_t> places_;
};

/// What a token stands for in the text.
class Surface {
 public:
  Surface(const TokenizerParts& parts, TokenId id) {
    const Vocabulary& words = parts.bpe.vocabulary();
    if (!words.has(id)) return;
    text_ = words.text(id);
    if (parts.pre_tokenizer.unit() != WordUnit::characters) return;
    const std::optional<char> byte = fallback_byte(text_);
    if (!byte) return;
    byte_ = *byte;
    text_ = {&byte_, 1};
  }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;

  /// How many bytes of `text`, from its beginning, the token stands for, if it does.
  std::optional<std::size_t> length_in(std::string_view text) const {
    if (text_.empty()) return std::nullopt;
    if (text.starts_with(text_)) return text_.size();
    std::string plain;  // the pre-tokenizer has written spaces as marks
    for (std::size_t at = 0; at < text_.size();) {
      const bool is_mark = text_.substr(at).starts_with(kSpaceMark);
      plain += is_mark ? ' ' : text_[at];
      at += is_mark ? kSpaceMark.size() : 1;
    }
    if (text.starts_with(plain)) return plain.size();
    if (plain.starts_with(' ') && text.starts_with(plain.substr(1))) return plain.size() - 1;  // or put one in front
    return std::nullopt;
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  char byte_ = '\0';
};

/// The places in `normalized`, from `there` on, of places in `text`, ascending, by walking through both. Nothing where
/// they differ in more than marks for spaces.
std::optional<std::vector<std::size_t>> places_by_walking(std::string_view text, std::string_view normalized,
                                                          std::size_t there, const std::vector<std::size_t>& places) {
  std::vector<std::size_t> found;
  auto next = places.begin();
  for (std::size_t at = 0; at <= text.size(); ++at) {
    for (; next != places.end() && *next == at; ++next)
      found.push_back(at == 0 ? 0 : there);
    if (at == text.size()) break;
    const std::string_view rest = normalized.substr(there);
    const bool is_same = !rest.empty() && rest[0] == text[at];
    if (!is_same && !(text[at] == ' ' && rest.starts_with(kSpaceMark))) return std::nullopt;
    there += is_same ? 1 : kSpaceMark.size();
  }
  return there == normalized.size() ? std::optional(found) : std::nullopt;
}

/// The same by normalising what stands before each place.
std::vector<std::size_t> places_by_normalizing(const Normalizer& normalizer, std::string_view text,
                                               std::string_view normalized, const std::vector<std::size_t>& places) {
  std::vector<std::size_t> found;
  for (const std::size_t place : places) {
    // A prefix is normalised as within the whole text but near its end (a mark may still compose with what follows), so
    // that the common beginning of both gives the place.
    TextRoom room(place, "the normalizer");
    const std::string before = place == 0 ? std::string() : normalizer(std::string(text.substr(0, place)), room);
    const auto end = std::mismatch(before.begin(), before.end(), normalized.begin(), normalized.end()).first;
    const auto length = static_cast<std::size_t>(end - before.begin());
    found.push_back(found.empty() ? length : std::max(length, found.back()));
  }
  return found;
}

}  // namespace

// Places are worked out afterwards from the texts of tokens and are not carried through normaliser, steps and merges:
// encoding without targets, by far the most frequent, pays nothing for them.
void mark_tokens(const TokenizerParts& parts, std::string_view normalized, std::span<const TokenId> ids,
                 std::span<const TextRange> ranges, std::vector<std::uint8_t>& marks) {
  if (ranges.empty()) return marks.resize(marks.size() + ids.size(), 0);
  TokenSearch search(normalized);
  std::size_t at = 0, num_waiting = 0;  // unknown tokens cover what lies between known ones
  const auto mark = [&](const TextRange& place, std::size_t count) {
    marks.insert(marks.end(), count, overlaps(place, ranges) ? 1 : 0);
  };
  for (const TokenId id : ids) {
    const Surface surface(parts, id);
    std::size_t begin = at;
    std::optional<std::size_t> length = num_waiting == 0 ? surface.length_in(normalized.substr(at)) : std::nullopt;
    if (!length && !surface.text().empty()) {  // what stands before it is unknown or was removed
      begin = search.next(id, surface.text(), at);
      if (begin != std::string_view::npos) length = surface.text().size();
    }
    if (!length) {
      ++num_waiting;
      continue;
    }
    mark({at, begin}, num_waiting);
    num_waiting = 0;
    mark({begin, begin + *length}, 1);
    at = begin + *length;
  }
  mark({at, normalized.size()}, num_waiting);
}

std::vector<TextRange> ranges_within(const TokenizerParts& parts, std::string_view text, std::string_view normalized,
                                     std::size_t offset, std::span<const TextRange> ranges) {
  std::vector<TextRange> inside;
  std::vector<std::size_t> places;
  for (auto range = first_after(ranges, offset); range != ranges.end(); ++range) {
    const std::size_t begin = std::max(range->begin, offset), end = std::min(range->end, offset + text.size());
    if (begin >= end) break;
    inside.push_back({begin - offset, end - offset});
    places.insert(places.end(), {begin - offset, end - offset});
  }
  if (inside.empty() || text.data() == normalized.data()) return inside;
  auto walked = places_by_walking(text, normalized, 0, places);
  if (!walked && normalized.starts_with(kSpaceMark))  // one was put in front
    walked = places_by_walking(text, normalized, kSpaceMark.size(), places);
  const std::vector<std::size_t> found =
      walked ? *walked : places_by_normalizing(parts.normalizer, text, normalized, places);
  for (std::size_t i = 0; i < inside.size(); ++i)
    inside[i] = {found[2 * i], found[2 * i + 1]};
  return inside;
}

}  // namespace multicard
