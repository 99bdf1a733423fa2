#include "postproc/reduce/SecretText.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "base/Text.hpp"
#include "postproc/reduce/ProvenanceFilter.hpp"

namespace multicard::post {

namespace {

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_word(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-';
}

bool is_key(char c) {
  return is_word(c) || c == '.';
}

bool is_quote(char c) {
  return c == '"' || c == '\'';
}

bool is_upper_or_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0 || std::isupper(static_cast<unsigned char>(c)) != 0;
}

using Alias = std::function<std::string(const std::string&)>;

/// What distinguishes a token from a name with the same prefix: models/hf_llama_3_2_1b_instruct.
enum class Content {
  any,
  random,      ///< a digit, or letters of both cases
  very_random  ///< a digit and letters of both cases
};

/// How a token begins, of what and of how many characters at least it continues.
struct TokenKind {
  std::string_view prefix;
  bool (*is_part)(char);
  std::size_t least;
  Content content;
};
constexpr std::array<TokenKind, 12> kTokens{{{"hf_", is_alphanumeric, 30, Content::random},
                                             {"ghp_", is_alphanumeric, 30, Content::random},
                                             {"gho_", is_alphanumeric, 30, Content::random},
                                             {"ghu_", is_alphanumeric, 30, Content::random},
                                             {"ghs_", is_alphanumeric, 30, Content::random},
                                             {"github_pat_", is_word, 16, Content::random},
                                             {"glpat-", is_word, 16, Content::random},
                                             {"AKIA", is_upper_or_digit, 16, Content::any},
                                             {"ASIA", is_upper_or_digit, 16, Content::any},
                                             {"xoxb-", is_word, 24, Content::very_random},
                                             {"xoxp-", is_word, 24, Content::very_random},
                                             {"sk-", is_word, 32, Content::very_random}}};

bool has_content(std::string_view text, Content content) {
  const auto any = [&](int (*is)(int)) {
    return std::ranges::any_of(text, [&](char c) { return is(static_cast<unsigned char>(c)) != 0; });
  };
  const bool has_digit = any(std::isdigit), has_both = any(std::isupper) && any(std::islower);
  return content == Content::any || (content == Content::random ? has_digit || has_both : has_digit && has_both);
}

void hide_tokens(std::string& text, const Alias& alias) {
  for (const auto& [prefix, is_part, least, content] : kTokens)
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
      if (at > 0 && is_word(text[at - 1])) continue;
      const std::size_t begin = at + prefix.size();
      std::size_t end = begin;
      while (end < text.size() && is_part(text[end]))
        ++end;
      if (end - begin < least || !has_content(std::string_view(text).substr(begin, end - begin), content)) continue;
      text.replace(at, end - at, alias(text.substr(at, end - at)));
    }
}

/// The end of the value at `at`: its closing quote, or the next of `ends`.
std::size_t end_of_value(const std::string& text, std::size_t at, const char* ends = " \t\r\n,;&'\"") {
  if (at < text.size() && is_quote(text[at])) {
    std::size_t end = text.find(text[at], at + 1);
    while (end != std::string::npos && text[end - 1] == '\\')
      end = text.find(text[at], end + 1);
    return end == std::string::npos ? text.size() : end + 1;
  }
  return std::min(text.find_first_of(ends, at), text.size());
}

/// A key, and where its separator is.
struct Key {
  std::size_t begin, end;
  bool is_quoted;
};

/// The key before the separator at `at`: "token": and token = have a quote or blanks between.
Key key_before(const std::string& text, std::size_t at) {
  std::size_t end = at;
  if (text[at] != ' ')
    while (end > 0 && text[end - 1] == ' ')
      --end;
  const bool is_quoted = end > 0 && is_quote(text[end - 1]);
  if (is_quoted) --end;
  if (is_quoted && end > 0 && text[end - 1] == '\\') --end;  // JSON within a string
  std::size_t begin = end;
  while (begin > 0 && is_key(text[begin - 1]))
    --begin;
  return {begin, end, is_quoted};
}

/// Whether `at` is within a mapping {KEY: VALUE, …}.
bool is_in_braces(const std::string& text, std::size_t at) {
  const std::size_t before = at == 0 ? std::string::npos : text.find_last_not_of(" \t\r\n", at - 1);
  if (before == std::string::npos) return false;
  if (text[before] == '{') return true;
  return text[before] == ',' && text.find_last_of("{}", before) != std::string::npos &&
         text[text.find_last_of("{}", before)] == '{';
}

/// The value after the colon at `at`. Prose has colons too, but not after a quoted key, one in braces, or the first
/// word of a line that names a secret.
std::pair<std::size_t, std::size_t> value_after_colon(const std::string& text, const Key& key, std::size_t at) {
  const std::size_t value = std::min(text.find_first_not_of(' ', at + 1), text.size());
  if (key.is_quoted || is_in_braces(text, key.begin)) {
    if (value < text.size() && text[value] == '{') return {at, at};  // of which each key is looked at
    return {value, end_of_value(text, value, ",}\n")};
  }
  std::size_t line = key.begin;
  while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '-'))
    --line;
  if (line > 0 && text[line - 1] != '\n') return {at, at};
  return {value, std::min(text.find('\n', value), text.size())};
}

/// The value that belongs to the key before `at`, a separator or blank: where it begins and ends. Both are the same
/// where there is none.
std::pair<std::size_t, std::size_t> value_after(const std::string& text, const Key& key, std::size_t at) {
  const char separator = text[at];
  if (separator == ':') return value_after_colon(text, key, at);
  if (separator == ' ' && text.compare(key.begin, 2, "--") != 0) return {at, at};
  // NAME= has no value: a blank belongs to the separator after an option, or where one is before it, too.
  const bool has_blanks = separator == ' ' || text[at - 1] == ' ';
  const std::size_t value = has_blanks ? std::min(text.find_first_not_of(' ', at + 1), text.size()) : at + 1;
  if (value < text.size() && text[value] == '=') return {at, at};  // the separator follows; or a comparison
  return {value, end_of_value(text, value)};
}

void hide_values(std::string& text, const Alias& alias) {
  for (std::size_t at = text.find_first_of("=: "); at != std::string::npos; at = text.find_first_of("=: ", at + 1)) {
    const Key key = key_before(text, at);
    if (key.begin == key.end || !names_secret(text.substr(key.begin, key.end - key.begin))) continue;
    const auto [from, to] = value_after(text, key, at);
    if (from >= to) continue;
    // The same with and without quotes.
    const bool is_quoted = to - from > 2 && is_quote(text[from]) && text[to - 1] == text[from];
    const std::string value = is_quoted ? text.substr(from + 1, to - from - 2) : text.substr(from, to - from);
    text.replace(from, to - from, alias(value));
  }
}

/// https://USER:PASSWORD@host
void hide_users(std::string& text, const Alias& alias) {
  static constexpr std::string_view kScheme = "://";
  for (std::size_t at = text.find(kScheme); at != std::string::npos; at = text.find(kScheme, at + 1)) {
    const std::size_t begin = at + kScheme.size();
    const std::size_t end = std::min(text.find_first_of("/ \t\n\"'", begin), text.size());
    const std::size_t sign = text.rfind('@', end);
    if (sign != std::string::npos && sign > begin && sign < end)
      text.replace(begin, sign - begin, alias(text.substr(begin, sign - begin)));
  }
}

}  // namespace

bool names_secret(const std::string& key) {
  std::string name;
  for (const char c : key)
    name += c == '-' || c == '.' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view of_tokenizer :
       {"bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"})
    if (name.ends_with(of_tokenizer)) return false;
  // The last word decides: max_tokens and token_budget count tokens.
  for (const std::string_view word : {"token", "secret", "password", "passwd", "passphrase", "credential",
                                      "credentials", "apikey", "api_key", "access_key", "secret_key", "private_key"})
    if (name == word || name.ends_with("_" + std::string(word))) return true;
  return false;
}

std::string without_secret_words(std::string text, const std::function<std::string(const std::string&)>& alias) {
  hide_values(text, alias);
  hide_tokens(text, alias);
  hide_users(text, alias);
  return text;
}

}  // namespace multicard::post
