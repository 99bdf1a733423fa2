#include "postproc/reduce/SecretText.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/Text.hpp"
#include "postproc/reduce/ProvenanceFilter.hpp"

namespace multicard::post {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

bool is_key(char c) {
  return is_word(c) || c == '.';
}

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

/// How a token begins, and how many characters follow at least.
struct TokenKind {
  std::string_view prefix;
  std::size_t least;
};
constexpr std::array<TokenKind, 12> kTokens{{{"hf_", 16},
                                             {"ghp_", 16},
                                             {"gho_", 16},
                                             {"ghu_", 16},
                                             {"ghs_", 16},
                                             {"github_pat_", 16},
                                             {"glpat-", 16},
                                             {"AKIA", 16},
                                             {"ASIA", 16},
                                             {"xoxb-", 16},
                                             {"xoxp-", 16},
                                             {"sk-", 24}}};

void hide_tokens(std::string& text) {
  for (const auto& [prefix, least] : kTokens)
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
      if (at > 0 && is_word(text[at - 1])) continue;
      std::size_t end = at + prefix.size();
      while (end < text.size() && is_word(text[end]))
        ++end;
      if (end - at - prefix.size() < least) continue;
      text.replace(at, end - at, kHidden);
    }
}

/// The end of the value at `at`: its closing quote, or the next blank.
std::size_t end_of_value(const std::string& text, std::size_t at) {
  if (at < text.size() && is_quote(text[at])) {
    const std::size_t end = text.find(text[at], at + 1);
    return end == std::string::npos ? text.size() : end + 1;
  }
  return std::min(text.find_first_of(" \t\r\n,;&'\"", at), text.size());
}

/// The value that belongs to the key which ends before `end`, a separator or blank: where it begins and ends. Both are
/// the same where there is none.
std::pair<std::size_t, std::size_t> value_after(const std::string& text, std::size_t begin, std::size_t end) {
  const char separator = text[end];
  if (separator == '=') return {end + 1, end_of_value(text, end + 1)};
  if (separator == ' ' && text.compare(begin, 2, "--") == 0) return {end + 1, end_of_value(text, end + 1)};
  if (separator != ':') return {end, end};
  // Of YAML: prose has colons too, but not after the first word of a line that names a secret.
  std::size_t line = begin;
  while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '-'))
    --line;
  if (line > 0 && text[line - 1] != '\n') return {end, end};
  const std::size_t value = std::min(text.find_first_not_of(' ', end + 1), text.size());
  return {value, std::min(text.find('\n', value), text.size())};
}

void hide_values(std::string& text) {
  for (std::size_t at = text.find_first_of("=: "); at != std::string::npos; at = text.find_first_of("=: ", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_key(text[begin - 1]))
      --begin;
    if (begin == at || !names_secret(text.substr(begin, at - begin))) continue;
    const auto [from, to] = value_after(text, begin, at);
    if (from < to) text.replace(from, to - from, kHidden);
  }
}

/// https://USER:PASSWORD@host
void hide_users(std::string& text) {
  static constexpr std::string_view kScheme = "://";
  for (std::size_t at = text.find(kScheme); at != std::string::npos; at = text.find(kScheme, at + 1)) {
    const std::size_t begin = at + kScheme.size();
    const std::size_t end = std::min(text.find_first_of("/ \t\n\"'", begin), text.size());
    const std::size_t sign = text.rfind('@', end);
    if (sign != std::string::npos && sign > begin && sign < end) text.replace(begin, sign - begin, kHidden);
  }
}

}  // namespace

bool names_secret(const std::string& key) {
  std::string name;
  for (const char c : key)
    name += c == '-' || c == '.' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // The last word decides: max_tokens and token_budget count tokens.
  for (const std::string_view word : {"token", "secret", "password", "passwd", "passphrase", "credential",
                                      "credentials", "apikey", "api_key", "access_key", "secret_key", "private_key"})
    if (name == word || name.ends_with("_" + std::string(word))) return true;
  return false;
}

std::string without_secret_words(std::string text) {
  hide_values(text);
  hide_tokens(text);
  hide_users(text);
  return text;
}

}  // namespace multicard::post
