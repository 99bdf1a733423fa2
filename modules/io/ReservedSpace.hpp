#pragma once
/// \file Disk space that a file has before it is written.

#include <cstdint>
#include <string>

namespace multicard {

/// The blocks of a file, taken from the file system ahead of the writes that need them, so that a full disk shows as a
/// DataError here. A write through Open MPI's I/O to a full disk may report success or never return.
class ReservedSpace {
 public:
  /// `path` exists and can be written.
  explicit ReservedSpace(std::string path);
  ~ReservedSpace();
  ReservedSpace(const ReservedSpace&) = delete;
  ReservedSpace& operator=(const ReservedSpace&) = delete;

  /// Makes sure that the first `bytes` of the file have their blocks; its size stays. Where the file system cannot
  /// reserve, its free space is compared instead.
  void reserve(std::uint64_t bytes);
  /// Gives back what lies beyond the end of the file.
  void release();

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t reserved_ = 0;
};

}  // namespace multicard
