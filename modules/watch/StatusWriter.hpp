#pragma once
/// \file Writes a status file, at most once a second, on a thread of its own.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/Clock.hpp"
#include "watch/WatchStatus.hpp"

namespace multicard {

/// Where a status goes.
struct StatusFiles {
  std::string output;      ///< a folder, for OUTPUT/status.json
  std::string prometheus;  ///< a file for prometheus_text(); empty: none
};

/// The status of this process. Those who know something new pass a change, which costs them a lock; the thread makes
/// the changes, as expensive as they may be, and replaces the files by renaming (readers see the old file or the new
/// one, whole). The first time is a second after construction, or with write_soon(): a command that is refused at once
/// leaves what was there. The files are extras: what cannot be written is given up after a warning, and a file of the
/// same name that is not the program's stays.
class StatusWriter {
 public:
  using Change = std::function<void(WatchStatus&)>;

  /// \throws EnvironmentError where no thread can be started
  StatusWriter(WatchStatus status, const StatusFiles& files);
  /// Makes the changes that are left, and writes: unless nothing has been written, and either the state is no end or
  /// nothing is known of any work. Logs the warnings that are left, which are those of the last write.
  ~StatusWriter();
  StatusWriter(const StatusWriter&) = delete;
  StatusWriter& operator=(const StatusWriter&) = delete;

  /// \param change runs on the thread, or in the destructor
  void change(Change change);
  /// The next change is written when a second has passed since the last one, however early in the run it is.
  void write_soon();
  /// Why a file has been given up, each once.
  std::optional<std::string> take_warning();

 private:
  /// A file, until it has failed.
  struct Target {
    std::string path;
    std::function<bool(const std::string&)> is_own;
    std::function<std::string()> text;
    bool is_checked = false, has_failed = false;
  };

  void run();
  void finish();
  void apply(const std::vector<Change>& changes);
  void write();
  void write_target(Target& target);

  WatchStatus status_;  ///< of the thread; of the destructor, when that has ended
  std::vector<Target> targets_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Change> changes_;
  std::vector<std::string> warnings_;
  TimePoint next_;
  bool is_ending_ = false, has_written_ = false;
  std::thread thread_;
};

/// Replaces the content of a file by renaming, without waiting for the disk: after a crash of the machine either
/// version may be there, or none. \throws DataError
void replace_file(const std::string& path, std::string_view bytes);

}  // namespace multicard
