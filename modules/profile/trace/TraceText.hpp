#pragma once
/// \file The text of a trace file in memory.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace multicard {

/// The JSON text of a trace, decompressed if the file is gzipped (several members in a row are one text), followed by
/// kPadding bytes that a vectorised parser may read beyond its end.
class TraceText {
 public:
  static constexpr std::size_t kPadding = 64;

  /// Zeros after the last member are padding, as for gzip itself.
  /// \throws DataError where the file cannot be read, is not a whole gzip file, or is longer than a JSON parser of
  /// 32-bit positions reads (4 GB)
  static TraceText read(const std::string& path);

  std::string_view text() const { return {bytes_.get(), size_}; }
  /// Bytes that may be read, the padding included.
  std::size_t capacity() const { return capacity_; }
  /// Whether the file was gzipped: positions in the text are not those in the file.
  bool is_unpacked() const { return is_unpacked_; }

 private:
  struct Free {
    void operator()(char* bytes) const;
  };

  /// Keeps what is there. Pages that were never written take no memory.
  void reserve(std::size_t bytes);
  void decompress(const std::string& path, const TraceText& packed);

  std::unique_ptr<char, Free> bytes_;
  std::size_t size_ = 0, capacity_ = 0;
  bool is_unpacked_ = false;
};

}  // namespace multicard
