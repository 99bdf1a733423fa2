#include "text/tokenizer/Pattern.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/JsonReader.hpp"

namespace multicard {

Regex pattern_of(const nlohmann::json& step, const std::string& what) {
  const nlohmann::json& pattern = member(step, "pattern", what);
  if (optional_member(pattern, "Regex")) return Regex(text_member(pattern, "Regex", what));
  return Regex::literal(text_member(pattern, "String", what));
}

// `wanted` is never empty.
std::string replaced(std::string_view text, std::string_view wanted, std::string_view replacement) {
  std::string result;
  std::size_t done = 0;
  for (std::size_t at; (at = text.find(wanted, done)) != std::string_view::npos; done = at + wanted.size()) {
    result += text.substr(done, at - done);
    result += replacement;
  }
  result += text.substr(done);
  return result;
}

namespace {

/// The tokenizers library loses its place in the text where a pattern matches between two characters, as ^ and a* do.
void require_characters(const Regex& regex, const std::string& what) {
  for (const char* text : {"", "a", "A 1", ".\n", "\u4e2d"})
    regex.for_each(text, [&](const Regex::Match& match) {
      if (match.begin == match.end)
        throw DataError(fmt::format("the pattern of {} matches where there is no character", what));
    });
}

}  // namespace

Replacement::Replacement(const nlohmann::json& step, const std::string& what)
    : content_(text_member(step, "content", what)) {
  const nlohmann::json& pattern = member(step, "pattern", what);
  if (optional_member(pattern, "Regex")) {
    regex_ = std::make_shared<Regex>(text_member(pattern, "Regex", what));
    require_characters(*regex_, what);
  } else {
    literal_ = text_member(pattern, "String", what);
    if (literal_.empty()) throw DataError(fmt::format("{} replaces an empty text", what));
  }
}

template <class Found>
void Replacement::for_each(std::string_view text, Found&& found) const {
  if (regex_) return regex_->for_each(text, found);
  for (std::size_t at = 0; (at = text.find(literal_, at)) != std::string_view::npos; at += literal_.size())
    found(Regex::Match{at, at + literal_.size()});
}

// The length is checked at each match: one step with a long "content" can exceed any memory before it ends.
std::string Replacement::operator()(std::string_view text, const TextRoom& room) const {
  std::string result;
  std::size_t done = 0;
  for_each(text, [&](const Regex::Match& match) {
    result += text.substr(done, match.begin - done);
    result += content_;
    done = match.end;
    if (result.size() > room.left()) room.refuse();
  });
  result += text.substr(done);
  if (result.size() > room.left()) room.refuse();
  return result;
}

}  // namespace multicard
