#include "prepare/images/Orientation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

namespace multicard {

namespace {

/// Numbers of a TIFF structure; what lies beyond its end is 0.
class TiffReader {
 public:
  explicit TiffReader(std::span<const std::uint8_t> bytes)
      : bytes_(bytes), is_little_(!bytes.empty() && bytes[0] == 'I') {}

  std::uint64_t number(std::size_t offset, std::size_t num_bytes) const {
    // Offsets come from the file: compared without a sum, which could overflow.
    if (offset > bytes_.size() || num_bytes > bytes_.size() - offset) return 0;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < num_bytes; ++i)
      value = value << 8 | bytes_[offset + (is_little_ ? num_bytes - 1 - i : i)];
    return value;
  }

  /// The first value of the directory's entry, of any type of numbers (TIFF 6.0, section 2, and BigTIFF); 0 where it is
  /// none, or no whole number. The standard asks for SHORT, but some programs write other types.
  std::uint64_t whole_value(std::size_t entry) const {
    constexpr std::size_t kValueBytes = 4;
    const std::uint64_t type = number(entry + 2, 2);
    const std::size_t size = type < std::size(kTypeBytes) ? kTypeBytes[type] : 0;
    // Big-endian values stand at the field's beginning, longer ones elsewhere.
    const std::size_t at = size > kValueBytes ? number(entry + 8, 4) : entry + 8;
    constexpr std::uint64_t kFloat = 11, kDouble = 12, kRational = 5, kSignedRational = 10;
    if (type == kFloat) return whole(std::bit_cast<float>(static_cast<std::uint32_t>(number(at, size))));
    if (type == kDouble) return whole(std::bit_cast<double>(number(at, size)));
    if (type != kRational && type != kSignedRational) return number(at, size);
    const std::uint64_t divisor = number(at + 4, 4);
    return divisor == 0 ? 0 : whole(static_cast<double>(number(at, 4)) / static_cast<double>(divisor));
  }

 private:
  static std::uint64_t whole(double value) {
    constexpr double kLargest = 255;
    return value >= 1 && value <= kLargest && value == std::floor(value) ? static_cast<std::uint64_t>(value) : 0;
  }

  /// By type: BYTE is 1, IFD 13, LONG8 16; 0 for texts and what has no type.
  static constexpr std::size_t kTypeBytes[] = {0, 1, 0, 2, 4, 8, 1, 0, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8};

  std::span<const std::uint8_t> bytes_;
  bool is_little_;
};

bool turns_sideways(int orientation) {
  return orientation >= 5;
}

}  // namespace

// TIFF: bytes 0-1 "II" or "MM" (the byte order), 2-3 the number 42, 4-7 the offset of the first directory. A directory
// is a count and entries of 12 bytes: tag, type, number of values, and the value or, where it is longer than 4 bytes,
// its offset.
std::optional<int> orientation_of_exif(std::span<const std::uint8_t> exif) {
  constexpr std::string_view kName("Exif\0\0", 6);  // which belongs before the block, and stands in it at times
  while (exif.size() >= kName.size() && std::equal(kName.begin(), kName.end(), exif.begin()))
    exif = exif.subspan(kName.size());
  constexpr std::uint64_t kTiff = 42, kOrientationTag = 0x0112;
  constexpr std::size_t kEntryBytes = 12;
  const TiffReader tiff(exif);
  const bool names_order = exif.size() > 1 && exif[0] == exif[1] && (exif[0] == 'I' || exif[0] == 'M');
  // Some cameras write the number 42 in the other order.
  if (!names_order || (tiff.number(2, 2) != kTiff && tiff.number(2, 2) != kTiff << 8)) return std::nullopt;
  const std::size_t directory = tiff.number(4, 4);
  const std::uint64_t num_entries = tiff.number(directory, 2);
  // A damaged count is harmless: it has 16 bits, and what lies beyond the block reads as 0.
  for (std::size_t i = 0; i < num_entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.number(entry, 2) != kOrientationTag) continue;
    if (tiff.number(entry + 4, 4) == 0) return std::nullopt;  // no value
    const std::uint64_t value = tiff.whole_value(entry);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return std::nullopt;
}

// XMP is RDF in XML; the property is an attribute (tiff:Orientation="6") or an element. Searching the text is what
// Pillow does, and needs no XML parser for a value of one digit.
std::optional<int> orientation_of_xmp(std::string_view xmp) {
  constexpr std::string_view kProperty = "tiff:Orientation";
  for (std::size_t at = xmp.find(kProperty); at != xmp.npos; at = xmp.find(kProperty, at + 1)) {
    std::string_view rest = xmp.substr(at + kProperty.size());
    const std::size_t sign = rest.starts_with("=\"") ? 2 : rest.starts_with('>') ? 1 : 0;
    if (sign == 0 || sign >= rest.size() || rest[sign] < '0' || rest[sign] > '9') continue;
    return rest[sign] >= '1' && rest[sign] <= '8' ? rest[sign] - '0' : 1;
  }
  return std::nullopt;
}

ImageShape upright_shape(const ImageShape& stored, int orientation) {
  if (!turns_sideways(orientation)) return stored;
  return {stored.width, stored.height, stored.channels};
}

// Orientation says what the stored first row and column are of the picture: 1 top left, 2 top right, 3 bottom right, 4
// bottom left, and 5 to 8 the same with rows and columns exchanged (left top, right top, right bottom, left bottom).
Image upright(Image stored, int orientation) {
  if (orientation <= 1) return stored;
  const ImageShape from = stored.shape, to = upright_shape(from, orientation);
  // Where the stored rows and columns start: 3, 4, 6, 7 from the bottom, 2, 3, 7, 8 from the right.
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  Image result{to, std::vector<std::uint8_t>(stored.pixels.size())};
  std::uint8_t* out = result.pixels.data();
  for (std::int64_t y = 0; y < to.height; ++y)
    for (std::int64_t x = 0; x < to.width; ++x) {
      std::int64_t row = turns_sideways(orientation) ? x : y, column = turns_sideways(orientation) ? y : x;
      if (from_bottom) row = from.height - 1 - row;
      if (from_right) column = from.width - 1 - column;
      const std::uint8_t* pixel = stored.pixels.data() + (row * from.width + column) * from.channels;
      out = std::copy_n(pixel, from.channels, out);
    }
  return result;
}

}  // namespace multicard
