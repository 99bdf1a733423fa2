#pragma once
/// \file Whole files as bytes. A std::string here is a sequence of bytes; a failure is a DataError naming the file.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/RegularFile.hpp"

namespace multicard {

/// Writes a file that appears when it is whole (see PendingFile); missing folders are created.
void write_file(const std::string& path, std::string_view bytes);

/// \param number of the system's error \throws DataError "PATH cannot be written (WHY)"
[[noreturn]] void refuse_writing(const std::string& path, int number);

/// What becomes of a file that is there already when it is opened for writing.
enum class Opening { replace, append };

/// A file being written from front to back.
class OutputFile {
 public:
  /// Creates the file, empties it or appends to it.
  explicit OutputFile(std::string path, Opening opening = Opening::replace);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);
  void write(std::span<const std::byte> bytes);
  void close();

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace multicard
