#include "io/FolderLock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/System.hpp"
#include "comm/AbortRemovals.hpp"
#include "io/OwnFiles.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

std::string text_in(int descriptor) {
  std::array<char, 300> buffer{};
  const ssize_t length = pread(descriptor, buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// Nothing yet, or who holds it. A link is not followed: the lock would overwrite, and then remove, what it names.
bool is_lock(const std::string& path) {
  if (!is_plain_file(path)) return false;
  std::error_code gone;
  return fs::file_size(path, gone) == 0 || gone || content_says(path, "process ", " on ");
}

/// Whether the open file is the one of that name: the holder before may have removed it meanwhile.
bool is_still(int descriptor, const std::string& path) {
  struct stat open_one {
  }, named_one{};
  return fstat(descriptor, &open_one) == 0 && stat(path.c_str(), &named_one) == 0 &&
         open_one.st_ino == named_one.st_ino && open_one.st_dev == named_one.st_dev;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, double timeout_s)
    : folder_(folder), path_((fs::path(folder) / ".lock").string()) {
  // Open or create the file, lock it, and see that it still has its name: a holder that ends removes the file and lets
  // go of it afterwards, so who waited for it may have locked a file without a name, which excludes no other process.
  // flock belongs to the open file; a lock of fcntl would be lost when any thread closed another descriptor of the same
  // file.
  const TimePoint start = SteadyClock::now();
  while (true) {
    std::error_code error;
    make_folders(error);  // again and again: a holder that ends removes empty ones
    if (error) throw DataError(fmt::format("the folder {} cannot be created", folder), error.message());
    require_own_file(path_, "the lock", is_lock);
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (descriptor_ < 0 && errno == ENOENT) continue;
    if (descriptor_ < 0) throw DataError(fmt::format("{} cannot be written", path_), system_error_text(errno));
    // Without waiting, and asked again: flock has no time limit of its own.
    const bool locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    const int number = errno;
    if (locked && is_still(descriptor_, path_)) break;
    if (!locked && number != EWOULDBLOCK) {
      log_warning(
          fmt::format("{} cannot be locked ({}) Do not start a second run in it.", folder, system_error_text(number)));
      break;
    }
    const std::string holder = text_in(descriptor_);
    close(descriptor_);
    if (!locked && seconds_since(start) > timeout_s)
      throw UsageError(fmt::format("another run is writing into {}", folder), holder,
                       "Wait for it, end it, or set another run.output.");
    std::this_thread::sleep_for(std::chrono::milliseconds(locked ? 0 : 50));
  }
  ticket_ = on_abort_remove(path_);
  const std::string holder = fmt::format("process {} on {}", getpid(), host_name());
  if (ftruncate(descriptor_, 0) == 0) static_cast<void>(pwrite(descriptor_, holder.data(), holder.size(), 0));
}

void FolderLock::make_folders(std::error_code& error) {
  for (fs::path path = fs::absolute(folder_).lexically_normal(); made_.empty() || made_.back() != path.string();
       path = path.parent_path()) {
    if (is_taken(path.string())) break;
    made_.push_back(path.string());
  }
  fs::create_directories(folder_, error);
}

FolderLock::~FolderLock() {
  cancel_on_abort(ticket_);
  // While it is still locked: once let go, it may be another's, who must not lose its name.
  unlink(path_.c_str());
  for (const std::string& made : made_)
    if (rmdir(made.c_str()) != 0) break;
  close(descriptor_);
}

}  // namespace multicard
