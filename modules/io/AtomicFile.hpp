#pragma once
/// \file Files and folders that appear under their name only when they are whole.

#include <string>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

/// Whether a PendingFile looks for what others have left of its path, which takes a walk through the folder.
enum class Orphans { remove, are_removed };

/// A file being written. It has a temporary name that starts with a dot, in the folder of the final one, so that no
/// glob finds it; commit() gives it its name. Without commit it is removed, also when the job aborts.
class PendingFile {
 public:
  /// Collective over `communicator`, whose ranks share the temporary name. Missing folders are created. Nothing is
  /// opened yet: the caller creates path(). Where `final_path` is a link, the file at its end is written.
  explicit PendingFile(std::string final_path, Communicator communicator = Communicator::null(),
                       Orphans orphans = Orphans::remove);
  /// Rank 0 removes what was not committed. Not collective.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  const std::string& path() const { return path_; }

  /// Collective. Once all ranks are here, rank 0 brings the file to the disk and renames it, replacing one of that
  /// name. Close the file first.
  void commit();

  /// An abort of the job removes it after everything that is registered by now.
  void be_removed_last();

 private:
  std::string final_path_;
  Communicator communicator_;
  std::string path_;
  int ticket_ = -1;
  bool pending_ = true;
};

/// Removes what processes that were killed left of `final_path`. The caller knows that no process writes it now.
void remove_abandoned(const std::string& final_path);
/// Removes the temporary files and folders whose final path begins with `prefix` and that are no longer written: those
/// of processes of this host that have ended, and those of other hosts that have not changed for a day. Files must
/// begin as the program's do, folders have its mark (io/OwnFiles.hpp). Code that makes a PendingFile or PendingFolder
/// does this for its path.
void remove_orphans(const std::string& prefix);
/// Their temporary paths: FOLDER/.NAME.MAKER.part for the final path FOLDER/NAME.
std::vector<std::string> find_orphans(const std::string& prefix);

/// A folder being filled by one process. It has a temporary name next to the final one until commit(); without commit
/// it is removed with all that is in it, also when the job aborts.
class PendingFolder {
 public:
  /// Makes the folder, and missing ones above it. \throws DataError when `final_path` is there already, unless it is an
  /// empty folder.
  explicit PendingFolder(const std::string& final_path);
  ~PendingFolder();
  PendingFolder(const PendingFolder&) = delete;
  PendingFolder& operator=(const PendingFolder&) = delete;

  /// Where to put the files.
  const std::string& path() const { return path_; }

  /// Brings the files to the disk and gives the folder its name. \throws DataError
  void commit();

 private:
  std::string final_path_;
  std::string path_;
  int ticket_ = -1;
  bool pending_ = true;
};

/// Gives the file or folder `path` the name `final_path`, on the disk too. What had that name before has `path`
/// afterwards. One of the two has the name at every moment; only on a file system that cannot exchange names (NFS)
/// neither has it for an instant, in which the old one is called PATH.old. \throws DataError
void put_in_place(const std::string& path, const std::string& final_path);

}  // namespace multicard
