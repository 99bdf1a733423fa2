#pragma once
/// \file What this process has used of the machine since it began.

#include <cstdint>
#include <optional>

namespace multicard {

/// Of all threads together, also those that have ended, unless a member says otherwise.
struct ProcessUse {
  double cpu_s = 0;  ///< in user and system mode
  std::int64_t minor_faults = 0, major_faults = 0;
  std::int64_t voluntary_switches = 0, involuntary_switches = 0;  ///< of threads that waited, and that had to wait
  /// Bytes that reached a storage device or came from one; absent where the kernel does not count them.
  std::optional<std::int64_t> storage_read_bytes, storage_written_bytes;
  /// Of the first thread, the one that trains: how long it was ready to run while others had the cores; absent where
  /// the kernel does not count it.
  std::optional<double> core_wait_s;
};

ProcessUse process_use();

/// ProcessUse::cpu_s alone, in less than a microsecond.
double process_cpu_seconds();

}  // namespace multicard
