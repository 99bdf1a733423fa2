#include "text/prompts/MessagePasses.hpp"

#include <unordered_map>

#include "text/jinja/PythonText.hpp"

namespace multicard {

TextRange without_space_after(std::string_view text, const TextRange& range) {
  const std::string_view part = text.substr(range.begin, range.end - range.begin);
  return {range.begin, range.begin + python_strip(part, PythonEnds::right).size()};
}

// Templates loop over messages[1:], over filtered lists and over the same list twice. A message that several passes
// have written keeps the last one's range, and its count shows that it is not to be relied on.
MessagePasses::MessagePasses(const std::vector<JinjaValue>& messages, const JinjaOutput& whole)
    : text_(whole.text), passes_(messages.size()), counts_(messages.size()) {
  // Slices and filters of the list of messages share its dicts, so that their addresses identify messages.
  std::unordered_map<const JinjaDict*, std::size_t> numbers;
  for (std::size_t i = 0; i < messages.size(); ++i)
    numbers.emplace(messages[i].dict(), i);
  for (const auto& [item, range] : whole.passes) {
    const auto found = numbers.find(item);
    if (found == numbers.end()) continue;
    passes_[found->second] = range;
    ++counts_[found->second];
  }
}

// What a pass writes before the answer is the same for all answers of a kind; where it is, the answer of another pass
// begins right after it and needs no rendering.
std::optional<std::string_view> MessagePasses::header_of(std::size_t message, const TextRange& answer) const {
  const std::size_t begin = passes_[message].begin;
  if (!is_whole(message) || answer.begin < begin) return std::nullopt;
  return text_.substr(begin, answer.begin - begin);
}

std::optional<TextRange> MessagePasses::answer_in(std::size_t message, std::string_view header) const {
  const TextRange& pass = passes_[message];
  if (!is_whole(message) || !text_.substr(pass.begin, pass.end - pass.begin).starts_with(header)) return std::nullopt;
  return without_space_after(text_, {pass.begin + header.size(), pass.end});
}

/// Whether one pass has written the message and nothing else: some templates (Gemma 4) write results of tools into the
/// turn that called them, and these have no passes then.
bool MessagePasses::is_whole(std::size_t message) const {
  const bool is_first = message == 0, is_last = message + 1 == counts_.size();
  return counts_[message] == 1 && (is_first || is_before(message - 1, message)) &&
         (is_last || is_before(message, message + 1));
}

bool MessagePasses::is_before(std::size_t message, std::size_t next) const {
  return counts_[message] == 1 && counts_[next] == 1 && passes_[message].end <= passes_[next].begin;
}

}  // namespace multicard
