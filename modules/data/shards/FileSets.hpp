#pragma once
/// \file Whether files that one pattern names are one set, each once.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace multicard {

/// Finds copies among files of images: equal labels in equal order, and the same first and last image (`ends`).
class RowCopies {
 public:
  /// \param labels of the file's rows, at least one \throws DataError where an earlier file has the same
  template <class Label>
  void add(const std::string& path, std::span<const Label> labels, std::string_view ends) {
    add_bytes(path, {reinterpret_cast<const char*>(labels.data()), labels.size_bytes()}, ends);
  }
  template <class Label>
  void add(const std::string& path, const std::vector<Label>& labels, std::string_view ends) {
    add(path, std::span<const Label>(labels), ends);
  }

 private:
  void add_bytes(const std::string& path, std::string_view labels, std::string_view ends);

  std::map<std::pair<std::size_t, std::size_t>, std::string> path_of_;  ///< by hashes
};

/// Names as hubs give them, SPLIT-00000-of-00003.parquet: files of several splits or sets are refused, and a set of
/// which files are missing is said. Other names mean nothing. \throws DataError
void check_split_files(const std::vector<std::string>& paths);

}  // namespace multicard
