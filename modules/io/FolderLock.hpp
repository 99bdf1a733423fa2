#pragma once
/// \file Keeping a second run out of a folder.

#include <string>
#include <system_error>
#include <vector>

namespace multicard {

/// Holds FOLDER/.lock, which names its holder, by flock(2) until it is destroyed; the operating system lets go of it
/// when the process dies however it dies. Works between the nodes of one network file system where that forwards flock
/// (NFS, Lustre with -o flock); where locks are refused there is a warning and no protection.
class FolderLock {
 public:
  /// Makes the folder if needed. Waits up to `timeout_s` for a holder that is about to end.
  /// \throws UsageError naming the host and process that hold the folder, or a .lock that is not a lock file of this
  /// program.
  explicit FolderLock(const std::string& folder, double timeout_s = 3);
  /// Removes the lock file, and of the folders that this has made those that are empty.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  void make_folders(std::error_code& error);

  std::string folder_, path_;
  std::vector<std::string> made_;  ///< the innermost first
  int descriptor_ = -1;
  int ticket_ = -1;
};

}  // namespace multicard
