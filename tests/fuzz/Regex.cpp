// Patterns of tokenizer files: their translation, and matching with what comes of it. The first line of an input is the
// pattern, the rest a text.
#include "text/regex/Regex.hpp"

#include <algorithm>

#include "fuzz/Target.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  const Regex regex{std::string(input.substr(0, end))};
  std::string text = "It's 12,345 caf\u00e9s\r\n  \u4f60\u597d \U0001F600!";
  if (const std::string_view own = input.substr(std::min(end + 1, input.size())); is_valid_utf8(own)) text += own;
  std::size_t last = 0;
  regex.for_each(text, [&](const Regex::Match& match) {
    require(match.begin <= match.end && match.end <= text.size() && match.begin >= last, "a match is out of order");
    last = match.end;
  });
}

}  // namespace multicard::fuzz
