#pragma once
// What tests share: the communicator they were started on, the source tree, scratch folders.

#include <filesystem>
#include <string>

#include "comm/Mpi.hpp"

namespace multicard::test {

/// All ranks of this test.
const Communicator& world();

/// A file of the source tree, e.g. source_path("tests/data/x").
std::filesystem::path source_path(const std::string& relative);

/// A folder that all ranks of the test share and that is removed at the end.
class ScratchFolder {
 public:
  /// Collective.
  ScratchFolder();
  /// Collective.
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace multicard::test
