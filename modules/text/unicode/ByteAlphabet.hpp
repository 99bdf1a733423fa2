#pragma once
/// \file The visible characters that stand for bytes in byte-level vocabularies: GPT-2's, in use ever since.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace multicard {

/// The byte that a character stands for, if it is one of the 256.
std::optional<std::uint8_t> byte_of_visible(char32_t character);
/// The bytes that a text of such characters stands for; nothing if it has another character. `text` is valid UTF-8.
std::optional<std::string> bytes_of_visible(std::string_view text);
/// The characters that stand for these bytes.
std::string visible_bytes(std::string_view bytes);

}  // namespace multicard
