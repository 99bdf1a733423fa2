#include "text/tokenizer/Decoder.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "io/JsonReader.hpp"
#include "text/tokenizer/Pattern.hpp"
#include "text/unicode/ByteAlphabet.hpp"

namespace multicard {

namespace {

using Tokens = Decoder::Tokens;

/// Bytes in a row become a text; if they are none, each becomes U+FFFD.
Tokens joined_bytes(const Tokens& tokens, const TextRoom&) {
  Tokens result;
  std::string bytes;
  const auto flush = [&] {
    if (is_valid_utf8(bytes)) {
      if (!bytes.empty()) result.push_back(bytes);
    } else {
      result.insert(result.end(), bytes.size(), "\xEF\xBF\xBD");
    }
    bytes.clear();
  };
  for (const std::string& token : tokens) {
    if (const std::optional<char> byte = fallback_byte(token)) {
      bytes += *byte;
    } else {
      flush();
      result.push_back(token);
    }
  }
  flush();
  return result;
}

/// At most `left` and `right` times the text `content` less at the ends of a token.
std::string stripped(std::string_view token, const std::string& content, std::uint64_t left, std::uint64_t right) {
  for (std::uint64_t i = 0; i < left && token.starts_with(content); ++i)
    token.remove_prefix(content.size());
  for (std::uint64_t i = 0; i < right && token.ends_with(content); ++i)
    token.remove_suffix(content.size());
  return std::string(token);
}

std::string one_character(const nlohmann::json& description, const char* key, const std::string& what) {
  std::string text = text_member(description, key, what);
  if (text.empty() || utf8_length(text[0]) != text.size())
    throw DataError(fmt::format("\"{}\" of {} is not one character", key, what));
  return text;
}

auto strip(const nlohmann::json& description, const std::string& what) {
  constexpr std::uint64_t kMany = 1 << 20;
  const std::uint64_t left = count_of(member(description, "start", what), kMany, "\"start\" of " + what);
  const std::uint64_t right = count_of(member(description, "stop", what), kMany, "\"stop\" of " + what);
  return [content = one_character(description, "content", what), left, right](Tokens tokens, const TextRoom&) {
    for (std::string& token : tokens)
      token = stripped(token, content, left, right);
    return tokens;
  };
}

// In the first token every mark vanishes, not only one at its beginning: that is what the library does. Files before
// "prepend_scheme" say the same with "add_prefix_space".
auto metaspace(const nlohmann::json& description, const std::string& what) {
  const nlohmann::json* scheme = optional_member(description, "prepend_scheme");
  const bool prepends = scheme ? *scheme != "never" : flag_member(description, "add_prefix_space", true, what);
  return [replacement = one_character(description, "replacement", what), prepends](Tokens tokens, const TextRoom&) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replaced(tokens[i], replacement, i == 0 && prepends ? "" : " ");
    return tokens;
  };
}

auto suffix_to_space(const std::string& suffix) {
  return [suffix](Tokens tokens, const TextRoom&) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (!suffix.empty()) tokens[i] = replaced(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
    return tokens;
  };
}

// All tokens at once, because the bytes of one character may be spread over several. Repaired token by token, each part
// would become a U+FFFD.
Tokens from_bytes(const Tokens& tokens, const TextRoom&) {
  std::string bytes;
  for (const std::string& token : tokens)
    bytes += bytes_of_token(token);
  return {repaired_utf8(bytes)};
}

Tokens fused(const Tokens& tokens, const TextRoom&) {
  return {join(tokens, "")};
}

}  // namespace

// Nearly all models have a lone ByteLevel here. Tokenizer::decode() knows that from is_byte_level_ and appends bytes
// directly, without a string for each token.
Decoder::Decoder(const nlohmann::json& description) {
  if (!description.is_null()) {
    add(description);
    is_byte_level_ = is_byte_level_ && steps_.size() == 1;
  } else {
    steps_.emplace_back([](const Tokens& tokens, const TextRoom&) { return Tokens{join(tokens, " ")}; });
  }
}

std::string Decoder::operator()(Tokens tokens) const {
  std::size_t bytes = tokens.size();  // the default puts a space between two
  for (const std::string& token : tokens)
    bytes += token.size();
  const TextRoom room(bytes, "the decoder");
  for (const Step& step : steps_)
    tokens = step(std::move(tokens), room);
  return join(tokens, "");
}

void Decoder::add(const nlohmann::json& description) {
  const std::string type = type_of(description, "the decoder");
  if (type == "Sequence") {
    for (const nlohmann::json& step : list_member(description, "decoders", "the decoder"))
      add(step);
    return;
  }
  require_few_steps(steps_.size() + 1, "the decoder");
  is_byte_level_ = type == "ByteLevel";
  steps_.push_back(make_step(description, type));
}

Decoder::Step Decoder::make_step(const nlohmann::json& description, const std::string& type) {
  const std::string what = "the decoder " + type;
  if (type == "ByteLevel") return from_bytes;
  if (type == "ByteFallback") return joined_bytes;
  if (type == "Fuse") return fused;
  if (type == "Strip") return strip(description, what);
  if (type == "Metaspace") return metaspace(description, what);
  if (type == "BPEDecoder") return suffix_to_space(text_member(description, "suffix", what));
  if (type == "Replace")
    return [replace = Replacement(description, what)](Tokens tokens, TextRoom room) {
      for (std::string& token : tokens) {
        token = replace(token, room);
        room.take(token.size());
      }
      return tokens;
    };
  throw DataError(fmt::format("the decoder {} is not supported", type));
}

// The digits may be of either case, as the library reads them, although vocabularies have capital ones.
std::optional<char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return std::nullopt;
  std::uint8_t byte = 0;
  const auto [end, error] = std::from_chars(token.data() + 3, token.data() + 5, byte, 16);
  if (error != std::errc() || end != token.data() + 5) return std::nullopt;
  return static_cast<char>(byte);
}

std::string bytes_of_token(std::string_view token) {
  std::optional<std::string> bytes = bytes_of_visible(token);
  return bytes ? std::move(*bytes) : std::string(token);
}

}  // namespace multicard
