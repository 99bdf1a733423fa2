#pragma once
/// \file Files of which several processes write ranges.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace multicard {

/// Bytes of a file.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< the place after the last one

  bool operator==(const ByteRange&) const = default;
};
using ByteRanges = std::vector<ByteRange>;

/// "0-1023,4096-8191": first and last places, as HTTP names them (RFC 9110, section 14.1.2).
std::string ranges_text(const ByteRanges& ranges);
/// The ranges that a text names; nothing where it is another, or where they are not in rising order or share bytes.
std::optional<ByteRanges> ranges_in(std::string_view text);
/// Whether each byte of a file of this length is in one range, and in one alone.
bool cover(ByteRanges ranges, std::uint64_t num_bytes);
/// SHA-256 of what a file has in these ranges, one after the other. \throws DataError where it cannot be read, or ends
/// before they do
std::string sha256_of_ranges(const std::string& path, const ByteRanges& ranges);

/// What one process has written of a file.
struct WrittenRanges {
  ByteRanges ranges;   ///< rising; those that touch are one
  std::string sha256;  ///< of these bytes
};

/// Writes ranges of a file that is there already. Other processes may write other ranges of it meanwhile.
class RangeWriter {
 public:
  /// \throws DataError
  explicit RangeWriter(std::string path);
  ~RangeWriter();
  RangeWriter(const RangeWriter&) = delete;
  RangeWriter& operator=(const RangeWriter&) = delete;

  /// \param begin not before the end of what was written last \throws DataError for a full disk and the like
  void write(std::uint64_t begin, std::string_view bytes);
  /// Brings what was written to the disk. \throws DataError
  WrittenRanges finish();

 private:
  struct Impl;
  std::string path_;
  int descriptor_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace multicard
