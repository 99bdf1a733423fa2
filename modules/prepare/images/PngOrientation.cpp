#include "prepare/images/PngOrientation.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <zlib.h>

#include "prepare/images/Orientation.hpp"

namespace multicard {

namespace {

/// More than any of these chunks needs, packed or not: thumbnails and edits can stand in them.
constexpr std::size_t kMostBytes = 64 << 20;

/// The part of `text` before the next NUL, which is taken from it.
std::string_view take_field(std::string_view& text) {
  const std::string_view field = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(text.size(), field.size() + 1));
  return field;
}

/// Nothing where `packed` is damaged or becomes too long.
std::string inflated(std::string_view packed) {
  std::string text(std::min(kMostBytes, packed.size() * 1032), '\0');  // zlib packs no better
  uLongf size = text.size();
  const auto* bytes = reinterpret_cast<const Bytef*>(packed.data());
  if (uncompress(reinterpret_cast<Bytef*>(text.data()), &size, bytes, packed.size()) != Z_OK) return {};
  text.resize(size);
  return text;
}

/// The text of a chunk tEXt, zTXt or iTXt (PNG specification, section 11.3.3). After the keyword and its NUL tEXt has
/// the text; zTXt a byte for the method and the packed text; iTXt a flag, a byte for the method, language and
/// translated keyword, each with a NUL, and the text, packed if the flag is 1. \param rest what follows the keyword and
/// its NUL
std::string text_of(std::string_view chunk, std::string_view rest) {
  if (chunk == "tEXt" || rest.empty()) return std::string(rest);
  const bool is_packed = chunk == "zTXt" || rest[0] == 1;
  rest.remove_prefix(std::min<std::size_t>(rest.size(), chunk == "zTXt" ? 1 : 2));
  if (chunk == "iTXt") {
    take_field(rest);  // language
    take_field(rest);  // the keyword in that language
  }
  return is_packed ? inflated(rest) : std::string(rest);
}

/// The block in hexadecimal digits after two lines, its name and its length. ImageMagick's and exiv2's way to keep EXIF
/// in a text chunk, from before eXIf was part of the standard (2017).
std::optional<int> orientation_of_profile(std::string_view text) {
  for (int line = 0; line < 3; ++line)
    text.remove_prefix(std::min(text.size(), text.find('\n')) + (text.find('\n') < text.size() ? 1 : 0));
  std::string digits;
  for (const char c : text)
    if (c != '\n') digits += c;
  std::string block;
  for (std::size_t at = 0; at + 2 <= digits.size(); at += 2) {
    std::uint8_t byte = 0;
    if (std::from_chars(&digits[at], &digits[at] + 2, byte, 16).ptr != &digits[at] + 2) return std::nullopt;
    block += static_cast<char>(byte);
  }
  return orientation_of_exif({reinterpret_cast<const std::uint8_t*>(block.data()), block.size()});
}

/// What the chunks say, the first of each kind.
class Clues {
 public:
  void take(std::string_view chunk, const std::string& content) {
    if (chunk == "eXIf") {
      exif_ = orientation_of_exif({reinterpret_cast<const std::uint8_t*>(content.data()), content.size()});
      return;
    }
    std::string_view rest = content;
    const std::string_view keyword = take_field(rest);
    if (keyword == "Raw profile type exif" && !profile_) profile_ = orientation_of_profile(text_of(chunk, rest));
    if (keyword == "XML:com.adobe.xmp" && !xmp_) xmp_ = orientation_of_xmp(text_of(chunk, rest));
  }

  int orientation() const { return exif_ ? *exif_ : profile_ ? *profile_ : xmp_.value_or(1); }

 private:
  std::optional<int> exif_, profile_, xmp_;
};

}  // namespace

// A PNG is its signature and chunks of length (big-endian), name, data and checksum. Chunks are walked by their lengths
// alone: checksums of the others are libpng's business, and damage there is found when it decodes.
int orientation_of_png(std::FILE* file) {
  constexpr long kSignatureBytes = 8, kChecksumBytes = 4;
  Clues clues;
  std::array<std::uint8_t, 8> head{};
  bool is_left = std::fseek(file, kSignatureBytes, SEEK_SET) == 0;
  while (is_left && std::fread(head.data(), 1, head.size(), file) == head.size()) {
    const std::uint32_t length = std::uint32_t{head[0]} << 24 | head[1] << 16 | head[2] << 8 | head[3];
    const std::string_view name(reinterpret_cast<const char*>(head.data()) + 4, 4);
    long left = static_cast<long>(length);
    if ((name == "eXIf" || name == "tEXt" || name == "zTXt" || name == "iTXt") && length <= kMostBytes) {
      std::string content(length, '\0');
      if (std::fread(content.data(), 1, length, file) != length) break;
      clues.take(name, content);
      left = 0;
    }
    is_left = std::fseek(file, left + kChecksumBytes, SEEK_CUR) == 0;
  }
  std::rewind(file);
  return clues.orientation();
}

}  // namespace multicard
