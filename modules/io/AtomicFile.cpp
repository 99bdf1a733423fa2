#include "io/AtomicFile.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/System.hpp"
#include "comm/AbortRemovals.hpp"
#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "io/OwnFiles.hpp"
#include "io/PageCache.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

/// The others wait as long as a busy disk may take.
template <class Body>
void on_root(const Communicator& communicator, Body&& body) {
  if (communicator.is_null()) return body();
  const Watchdog::LongerTimeout longer_timeout(communicator.watchdog(), kDiskTimeoutS);
  agreed(communicator, [&] {
    if (communicator.is_root()) body();
  });
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw DataError(fmt::format("the folder {} cannot be created", folder.string()), error.message());
}

/// Whether the process that made `entry` under a name of temporary_path() may still be writing it.
bool may_be_written(const fs::directory_entry& entry) {
  const std::optional<TemporaryName> name = parse_temporary(entry.path().filename().string());
  // A process number says something on its own host only; of files of other hosts the age must do. A number that
  // another process has by now keeps the file, which is the safe mistake.
  if (name && name->host == host_name()) return is_running(name->process);
  constexpr std::chrono::hours kLongAgo{24};
  std::error_code error;
  const auto changed = entry.last_write_time(error);
  return error || fs::file_time_type::clock::now() - changed < kLongAgo;
}

/// The temporary files in the folder of `prefix` whose final names begin as it does.
template <class Choose>
std::vector<std::string> temporaries(const fs::path& prefix, Choose&& choose) {
  const std::string start = "." + prefix.filename().string();
  std::vector<std::string> chosen;
  std::error_code error;
  for (fs::directory_iterator entry(folder_of(prefix), error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(start) && parse_temporary(name) && choose(*entry)) chosen.push_back(entry->path().string());
  }
  return chosen;
}

void remove_temporaries(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!is_own_temporary(path)) continue;
    if (is_plain_folder(path))
      remove_own_folder(path);
    else
      remove_own_file(path);
  }
}

/// The path without a slash at its end, so that it has a last name.
std::string with_last_name(const std::string& path) {
  const fs::path normal = fs::absolute(path).lexically_normal();
  return normal.has_filename() ? normal.string() : normal.parent_path().string();
}

void require_free(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return;
  const bool is_empty = fs::is_directory(folder, error) && fs::is_empty(folder, error);
  if (!is_empty || error)
    throw DataError(fmt::format("{} is there already", folder), error ? error.message() : "it is not an empty folder",
                    "Name a new folder, or remove this one first.");
}

}  // namespace

PendingFile::PendingFile(std::string final_path, Communicator communicator, Orphans orphans)
    : final_path_(std::move(final_path)), communicator_(std::move(communicator)) {
  // Rank 0 alone looks and names: on a network file system other nodes may see an older folder. All ranks register the
  // file, because any of them may be the one that aborts the job.
  on_root(communicator_, [&] {
    final_path_ = end_of_links(final_path_);
    make_folder(folder_of(final_path_));
    if (orphans == Orphans::remove) remove_orphans(final_path_ + ".");
  });
  path_ = communicator_.broadcast(communicator_.is_root() ? temporary_path(final_path_) : std::string());
  ticket_ = on_abort_remove(path_);
}

PendingFile::~PendingFile() {
  // Ranks come here at different times, perhaps while an exception passes: rank 0 removes without asking the others.
  cancel_on_abort(ticket_);
  std::error_code ignored;
  if (pending_ && communicator_.is_root()) fs::remove(path_, ignored);
}

void PendingFile::commit() {
  const Watchdog::LongerTimeout longer_timeout(communicator_.watchdog(), kDiskTimeoutS);
  // The order is what keeps the file whole: all ranks have closed it; its content is on the disk before it has its
  // name; the rename is one step, as both names are in one folder; and the folder is on the disk before the caller
  // relies on it. After a crash at any moment the name leads to the old file or to the new one.
  communicator_.barrier();
  on_root(communicator_, [&] {
    bring_to_disk(path_);
    std::error_code error;
    fs::rename(path_, final_path_, error);
    if (error) throw DataError(fmt::format("{} cannot be renamed to {}", path_, final_path_), error.message());
    bring_to_disk(folder_of(final_path_).string());
  });
  pending_ = false;
}

void PendingFile::be_removed_last() {
  cancel_on_abort(ticket_);
  ticket_ = on_abort_remove(path_);
}

void remove_abandoned(const std::string& final_path) {
  remove_temporaries(temporaries(final_path + ".", [](const fs::directory_entry&) { return true; }));
}

std::vector<std::string> find_orphans(const std::string& prefix) {
  return temporaries(prefix, [](const fs::directory_entry& entry) { return !may_be_written(entry); });
}

void remove_orphans(const std::string& prefix) {
  remove_temporaries(find_orphans(prefix));
}

PendingFolder::PendingFolder(const std::string& final_path) : final_path_(end_of_links(with_last_name(final_path))) {
  require_free(final_path_);
  remove_orphans(final_path_ + ".");
  path_ = temporary_path(final_path_);
  mark_folder(path_);
  ticket_ = on_abort_remove(path_);
}

PendingFolder::~PendingFolder() {
  cancel_on_abort(ticket_);
  if (pending_) remove_own_folder(path_);
}

void PendingFolder::commit() {
  // The mark lets the folder be removed while it has its temporary name; what is finished is the user's.
  remove_own_file((fs::path(path_) / kFolderMark).string());
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path_))
    bring_to_disk(entry.path().string());
  bring_to_disk(path_);
  std::error_code error;
  fs::rename(path_, final_path_, error);  // takes the place of an empty folder
  if (error) throw DataError(fmt::format("{} cannot be renamed to {}", path_, final_path_), error.message());
  pending_ = false;
  bring_to_disk(folder_of(final_path_).string());
}

namespace {

/// Where there is nothing to exchange with, or the file system cannot.
void replace_in_steps(const std::string& path, const std::string& final_path, std::error_code& error) {
  const std::string aside = path + ".old";
  std::error_code absent;
  const bool is_taken = fs::exists(fs::symlink_status(final_path, absent));
  if (is_taken) fs::rename(final_path, aside, error);
  if (error) return;
  fs::rename(path, final_path, error);
  if (!is_taken) return;
  std::error_code ignored;
  // If the new one could not be renamed, the old one gets its name back; else it takes the temporary name.
  fs::rename(aside, error ? final_path : path, ignored);
}

}  // namespace

void put_in_place(const std::string& path, const std::string& final_path) {
  // rename() would do for files, but not for a folder that is not empty; and what was there must survive until the new
  // one is in place, since it may be the only checkpoint.
  const bool exchanged = renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, final_path.c_str(), RENAME_EXCHANGE) == 0;
  std::error_code error;
  if (!exchanged) replace_in_steps(path, final_path, error);
  if (error) throw DataError(fmt::format("{} cannot be renamed to {}", path, final_path), error.message());
  bring_to_disk(folder_of(final_path).string());
}

}  // namespace multicard
