#include "text/unicode/ByteAlphabet.hpp"

#include <array>

#include "base/Utf8.hpp"

namespace multicard {

namespace {

/// Bytes that are visible in Latin-1 stand for themselves; the others, in order, for the characters from U+0100.
constexpr char32_t kFirstSubstitute = 0x100;

constexpr bool is_visible(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

constexpr std::array<char32_t, 256> make_alphabet() {
  std::array<char32_t, 256> alphabet{};
  char32_t substitute = kFirstSubstitute;
  for (int byte = 0; byte < 256; ++byte)
    alphabet[byte] = is_visible(byte) ? static_cast<char32_t>(byte) : substitute++;
  return alphabet;
}

constexpr std::array<char32_t, 256> kAlphabet = make_alphabet();
constexpr int kNumInvisible = 68;

constexpr std::array<std::uint8_t, kNumInvisible> make_invisible() {
  std::array<std::uint8_t, kNumInvisible> bytes{};
  std::size_t next = 0;
  for (int byte = 0; byte < 256; ++byte)
    if (!is_visible(byte)) bytes[next++] = static_cast<std::uint8_t>(byte);
  return bytes;
}

constexpr std::array<std::uint8_t, kNumInvisible> kInvisible = make_invisible();

}  // namespace

std::optional<std::uint8_t> byte_of_visible(char32_t character) {
  if (character < kFirstSubstitute)
    return is_visible(static_cast<int>(character)) ? std::optional(static_cast<std::uint8_t>(character)) : std::nullopt;
  if (character < kFirstSubstitute + kNumInvisible) return kInvisible[character - kFirstSubstitute];
  return std::nullopt;
}

std::optional<std::string> bytes_of_visible(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const std::optional<std::uint8_t> byte = byte_of_visible(next_character(text, at));
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

std::string visible_bytes(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes)
    append_utf8(text, kAlphabet[static_cast<std::uint8_t>(byte)]);
  return text;
}

}  // namespace multicard
