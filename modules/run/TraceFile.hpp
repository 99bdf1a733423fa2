#pragma once
/// \file The time line of a profile window as a file, of all ranks of a run.

#include <cstdint>
#include <optional>
#include <string>

#include "base/Clock.hpp"
#include "comm/ClockComparison.hpp"
#include "profiler/ProfileWindows.hpp"

namespace multicard {

/// The time line of one window, from its opening to the file `trace-stepN.json.gz` in the folder of the run, N being
/// the first step in it. Like a profile it never ends a run: where it cannot be written, a line says why.
class TraceFile {
 public:
  /// Collective. When the window opens: compares the clocks of the ranks.
  TraceFile(const Communicator& communicator, std::string folder, std::int64_t first_step);

  /// Collective. When it has closed: compares them again, and writes what all ranks have recorded. \param recorded
  /// absent on a rank without a window
  void write(const std::optional<RecordedTimeline>& recorded);

 private:
  struct Moments {
    std::int64_t wall = 0;
    TimePoint steady;
  };

  void check_clock() const;
  void write_parts(const std::optional<RecordedTimeline>& recorded, const CommonClock& clock) const;

  Communicator communicator_;
  std::string folder_;
  std::int64_t first_step_;
  Moments opened_;
  ClockComparison comparison_;
};

/// Removes the time lines of an earlier run in the folder.
void remove_traces(const std::string& folder);

}  // namespace multicard
