#pragma once
/// \file Where self-tests put their files.

#include <memory>
#include <string>

#include "comm/Communicator.hpp"
#include "io/AtomicFile.hpp"

namespace multicard {

/// A folder for as long as the object lives; an abort of the job removes it too, and what a killed process left is
/// removed by the next one in the same place.
class TestFolder {
 public:
  /// Collective. Makes the folder in `parent`, "" for the working folder. \throws DataError on all ranks
  TestFolder(const std::string& parent, const Communicator& world);
  /// No rank may have files open there any more: rank 0 removes them.
  ~TestFolder() = default;
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  /// In `parent` as it was given, on all ranks.
  const std::string& path() const { return path_; }

 private:
  std::unique_ptr<PendingFolder> folder_;  ///< on rank 0; never committed
  std::string path_;
};

}  // namespace multicard
