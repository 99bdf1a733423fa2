#pragma once
/// \file What is measured of a step and of its collectives, under the names of the results file.

#include <array>
#include <cstdint>
#include <limits>

namespace multicard {

/// The phases that partition a step, in file order; `step` is their sum and comes first in the file.
inline constexpr std::array<const char*, 7> kPhaseNames{"data_wait",   "transfer", "forward", "backward",
                                                        "reduce_wait", "update",   "other"};
enum class Phase : std::uint8_t { data_wait, transfer, forward, backward, reduce_wait, update, other };

/// Seconds of one step on one rank.
struct StepTimes {
  double step = 0;
  std::array<double, kPhaseNames.size()> phases{};
};

/// The times of a step that a rank took no part in: NaN throughout.
inline StepTimes absent_step() {
  StepTimes times;
  times.step = std::numeric_limits<double>::quiet_NaN();
  times.phases.fill(times.step);
  return times;
}

/// Collectives of one kind on one rank.
struct CommunicationTotals {
  std::int64_t calls = 0;
  std::int64_t payload_bytes = 0;
  double bus_bytes = 0;  ///< nccl-tests' formula: 2 (R - 1) / R times the payload for an all-reduce
  double seconds_total = 0;
  double seconds_exposed = 0;  ///< time the step waited
  /// Of seconds_total: until the last rank had entered the operation. Unknown (NaN) where only the transfer would tell.
  double seconds_skew = std::numeric_limits<double>::quiet_NaN();

  void add(const CommunicationTotals& more) {
    calls += more.calls;
    payload_bytes += more.payload_bytes;
    bus_bytes += more.bus_bytes;
    seconds_total += more.seconds_total;
    seconds_exposed += more.seconds_exposed;
    seconds_skew += more.seconds_skew;
  }
};

/// Reads or writes of one kind on one rank.
struct FileTotals {
  std::int64_t calls = 0, bytes = 0;
  double seconds = 0;       ///< inside the library that reads and writes
  double lock_seconds = 0;  ///< before that: until the other threads of the process had left it

  void add(const FileTotals& more) {
    calls += more.calls;
    bytes += more.bytes;
    seconds += more.seconds;
    lock_seconds += more.lock_seconds;
  }

  /// 1e9 bytes a second while it reads or writes; unknown (NaN) where no time was measured.
  double gb_per_s() const {
    return seconds > 0 ? 1e-9 * static_cast<double>(bytes) / seconds : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace multicard
