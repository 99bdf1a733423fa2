#include "base/Secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <unistd.h>

namespace multicard {

namespace {

/// Takes all of `what` out of `text`, or puts `instead` there.
void replace(std::string& text, std::string_view what, const std::string& instead) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + instead.size()))
    text.replace(at, what.size(), instead);
}

}  // namespace

bool speaks_of_secrets(std::string_view variable) {
  // The last is the key that Open MPI's processes of one job know each other by.
  static constexpr std::array<std::string_view, 10> kWords{
      "TOKEN",      "KEY", "PASSW",  "PASSPHRASE",    "SECRET",
      "CREDENTIAL", "JWT", "COOKIE", "AUTHORIZATION", "PRECONDITION_TRANSPORTS"};
  std::string name(variable);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  // TOKENIZERS_PARALLELISM and the like hold no secret, but would match TOKEN.
  replace(name, "TOKENIZ", "");
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

std::string without_secrets(std::string text) {
  // A shorter value, "1" say, occurs in any text: replacing it would ruin the text and hide nothing.
  constexpr std::size_t kShortest = 8;
  // The environment of this process rather than a pattern of what tokens look like: a shell has replaced the variable
  // by its value before the program began, so exactly that value is what a command line may show.
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view variable = *entry;
    const std::size_t equals = variable.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = variable.substr(0, equals), value = variable.substr(equals + 1);
    if (value.size() >= kShortest && speaks_of_secrets(name)) replace(text, value, "${" + std::string(name) + "}");
  }
  return text;
}

}  // namespace multicard
