#pragma once
/// \file What a folder of pictures, one folder a class, holds.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace multicard {

/// The classes and pictures of a folder, and what else is there that may be taken for pictures. For one process.
class FolderListing {
 public:
  /// \throws DataError when a folder cannot be read, holds no classes, links to nothing, or is a class without pictures
  explicit FolderListing(const std::string& folder);

  /// Sorted by name, as numbers if all are numbers.
  const std::vector<std::string>& classes() const { return classes_; }
  /// Below the folder, class by class and by file name. Links to nothing are among them, where they are named as
  /// pictures are: reading them fails.
  const std::vector<std::string>& pictures() const { return pictures_; }
  /// What is left out, counted and by the names of the first few of each kind; empty where nothing is.
  std::string left_out() const;

 private:
  struct Names {
    std::int64_t count = 0;
    std::vector<std::string> first;
    std::string advice;
  };

  void list_classes();
  void list_pictures(const std::string& class_name);
  /// A file that is not in a class folder, or named so that it is no picture of its class.
  void note_file(const std::string& name);
  /// Pictures anywhere below `name`.
  void note_pictures_in(const std::string& name, const std::string& kind);
  void note(const std::string& kind, const std::string& name, const std::string& advice = "");
  [[noreturn]] void throw_empty(const std::string& class_name) const;

  std::string folder_;
  std::vector<std::string> classes_, pictures_;
  std::map<std::string, Names> left_out_;  ///< by kind
};

}  // namespace multicard
