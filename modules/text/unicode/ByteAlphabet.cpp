#include "text/unicode/ByteAlphabet.hpp"

#include <array>

#include "base/Utf8.hpp"

namespace multicard {

namespace {

/// Bytes that are visible in Latin-1 stand for themselves; the others, in order, for the characters from U+0100.
constexpr char32_t kFirstSubstitute = 0x100;

// The alphabet of GPT-2 (bytes_to_unicode). Its merges file has one merge a line with a space between the halves, so
// that no token may hold white space or a control character. The gap at 0xAD is the soft hyphen, which is invisible
// too. A space becomes U+0120 and a line feed U+010A, which is where the "Ġ" and "Ċ" of vocabularies come from.
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

// The way back needs no map over characters: those below U+0100 stand for their own byte, and the substitutes follow
// each other from U+0100 on.
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

// All or nothing, as in the library's ByteLevel decoder: one character outside the alphabet shows that the token is not
// written in it (added tokens are not), and then its text is meant as it stands.
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
