#pragma once
/// \file Parts of a file that may be compressed.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace multicard {

/// A file, gzip or plain, read at places of its uncompressed bytes. Going forward in a gzip file decompresses what lies
/// between, going back starts at its beginning again; nothing is held in memory. Failures are DataErrors naming the
/// file.
class SeekableInput {
 public:
  explicit SeekableInput(const std::string& path);
  ~SeekableInput();
  SeekableInput(const SeekableInput&) = delete;
  SeekableInput& operator=(const SeekableInput&) = delete;

  const std::string& path() const { return path_; }
  /// Exactly bytes.size() bytes from `offset`.
  void read(std::uint64_t offset, std::span<std::uint8_t> bytes);
  /// As many bytes as there are from `offset`, fewer than bytes.size() only at the end. Returns their number.
  std::size_t read_some(std::uint64_t offset, std::span<std::uint8_t> bytes);
  /// A DataError unless the file ends, whole, at `offset`.
  void expect_end(std::uint64_t offset);

 private:
  struct Handle;
  void skip_to(std::uint64_t offset);
  [[noreturn]] void fail(const std::string& why) const;

  std::string path_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace multicard
