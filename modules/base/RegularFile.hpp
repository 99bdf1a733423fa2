#pragma once
/// \file The one way to open a file for reading.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace multicard {

/// A regular file that is open for reading. Whatever else a path may lead to (a folder, a pipe, a socket, a device, a
/// loop of symbolic links) is refused at once: opening a pipe would wait for a writer, and a device may never end.
class RegularFile {
 public:
  /// \throws DataError "PATH cannot be read (WHY)"
  explicit RegularFile(std::string path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  /// Bytes when it was opened; 0 for the files of /proc.
  std::uint64_t size() const { return size_; }

  /// Reads on from where the last call ended. Fewer bytes than `wanted` only at the end of the file. \throws DataError
  std::size_t read(char* bytes, std::size_t wanted);

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

/// All bytes of a file. \throws DataError
std::string read_file(const std::string& path);

/// Why `path` cannot be opened as a RegularFile; nullopt if it can. For errors of another kind than DataError, and in
/// front of libraries that open files by name.
std::optional<std::string> why_unreadable(const std::string& path);
/// \throws DataError "PATH cannot be read (WHY)" for the same.
void require_regular_file(const std::string& path);

/// std::filesystem::is_directory and exists that answer false where the file system fails (loops of links, EIO).
bool is_folder(const std::string& path);
bool is_there(const std::string& path);

}  // namespace multicard
