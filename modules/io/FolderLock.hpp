#pragma once
/// \file Keeping a second run out of a folder.

#include <optional>
#include <string>

namespace multicard {

/// Holds FOLDER/.lock, which names its holder, by flock(2) until it is destroyed; the operating system lets go of it
/// when the process dies however it dies. Works between the nodes of one network file system where that forwards flock
/// (NFS, Lustre with -o flock); where locks are refused there is a warning and no protection.
class FolderLock {
 public:
  /// Makes the folder if needed. Waits up to `timeout_s` for a holder that is about to end.
  /// \throws UsageError naming the host and process that hold the folder.
  explicit FolderLock(const std::string& folder, double timeout_s = 5);
  /// Removes the lock file, and the folder if nothing else is in it.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string folder_, path_;
  int descriptor_ = -1;
  int ticket_ = -1;
};

}  // namespace multicard
