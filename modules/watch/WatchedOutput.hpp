#pragma once
/// \file A run, sweep or share as another process sees it: the status files in its output folder, read again and again.

#include <map>
#include <optional>
#include <string>

#include "watch/WatchStatus.hpp"

namespace multicard {

/// How it stands, as far as a reader can know.
enum class Liveness {
  missing,  ///< there is no status file, or none that could be read so far
  working,
  silent,  ///< it says that it works, but has said nothing for long, and its process is there or on another host
  gone,    ///< it says that it works, but its process has ended
  ended    ///< it says how it has ended
};

/// What is known at one moment.
struct OutputView {
  std::string output;
  Liveness liveness = Liveness::missing;
  std::string remark;                       ///< of a missing one: what is waited for, and what is there instead
  std::optional<WatchStatus> status;        ///< the newest that could be read
  double age_s = kNone;                     ///< of the status
  std::map<std::string, WatchedRun> tasks;  ///< of a share, by name: what their own files say
};

/// Reads OUTPUT/status.json, and of a share OUTPUT/tasks/NAME/status.json. Files that are not there yet, replaced, cut
/// off or damaged are no errors: what was read before stays until they can be read again.
class WatchedOutput {
 public:
  /// Without news for so long, a process that has ended counts as gone, and one that cannot be seen as silent.
  static constexpr double kGoneS = 3, kSilentS = 60;

  /// \param path a folder, or the status file in it
  explicit WatchedOutput(std::string path);
  /// Reads what is there now. \param now seconds since 1970
  void look(double now);
  /// As of the last look.
  const OutputView& known() const { return watched_; }

 private:
  void look_for_tasks();
  void judge(double now);
  OutputView watched_;
};

}  // namespace multicard
