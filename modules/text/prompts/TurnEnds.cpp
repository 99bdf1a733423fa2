#include "text/prompts/TurnEnds.hpp"

#include <algorithm>

#include "text/jinja/PythonText.hpp"

namespace multicard {

namespace {

bool is_word(char byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || byte == '_';
}

/// "<|end|>" of "<|end|><|start|>user": a marker in brackets at the beginning of a text; else nothing.
std::string_view leading_marker(std::string_view text) {
  if (text.empty() || (text.front() != '<' && text.front() != '[')) return {};
  const std::size_t end = text.find(text.front() == '<' ? '>' : ']');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end + 1);
}

/// What both begin with, without the beginning of something in which they differ.
std::string_view common_whole(std::string_view last, std::string_view inner) {
  const auto stop = std::mismatch(last.begin(), last.end(), inner.begin(), inner.end()).first;
  const std::string_view common = last.substr(0, static_cast<std::size_t>(stop - last.begin()));
  if (common.size() == last.size() || common.empty()) return common;
  // Without brackets a common part counts as a marker only if it is a whole word in both texts: "END" of "END." and
  // "ENDING" is not.
  const bool is_end_of_word = is_word(common.back()) && !is_word(last[common.size()]) &&
                              (common.size() == inner.size() || !is_word(inner[common.size()]));
  if (is_end_of_word && common.find_last_of("<[") == std::string_view::npos) return common;
  const std::size_t closed = common.find_last_of(">]");
  return common.substr(0, closed == std::string_view::npos ? 0 : closed + 1);
}

/// Whether `marker`, at the beginning of `inner`, is that of the next question rather than the answer's end.
bool is_header(std::string_view marker, std::string_view inner, const TurnTexts& texts) {
  const std::string_view beginning = python_strip(texts.beginning), first = leading_marker(beginning);
  if (beginning.starts_with(marker) || beginning.substr(first.size()).starts_with(marker)) return true;  // after a BOS
  // What stands before the next question also stands before the first one, where no answer has ended.
  return texts.beginning.ends_with(inner) && !python_strip(texts.question).starts_with(marker);
}

}  // namespace

// First one marker for both places. Where there is none the inner one must be a marker in brackets of its own, because
// what follows an answer may as well be the header of the next question.
TurnEnds find_turn_ends(const TurnTexts& texts, std::string_view eos) {
  std::string_view common = common_whole(texts.last, texts.inner);
  if (common.size() < texts.last.size() && !eos.empty() && texts.last.ends_with(eos)) {  // an EOS at the very end
    const std::string_view without = texts.last.substr(0, texts.last.size() - eos.size());
    if (without.size() <= common.size()) common = without;
  }
  if (const std::string_view both = python_strip(common); !both.empty()) return {std::string(both), std::string(both)};
  const std::string_view inner = python_strip(texts.inner, PythonEnds::left);
  const std::string_view marker = leading_marker(inner);
  if (marker.empty() || is_header(marker, inner, texts)) return {};
  const std::string_view last = python_strip(texts.last), last_marker = leading_marker(last);
  return {std::string(last_marker.empty() ? last : last_marker), std::string(marker)};
}

}  // namespace multicard
