#include "base/ProcessUse.hpp"

#include <ctime>
#include <fstream>
#include <string>

#include <sys/resource.h>

namespace multicard {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ProcessUse process_use() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  ProcessUse use;
  use.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  use.minor_faults = usage.ru_minflt;
  use.major_faults = usage.ru_majflt;
  use.voluntary_switches = usage.ru_nvcsw;
  use.involuntary_switches = usage.ru_nivcsw;
  std::ifstream io("/proc/self/io");
  std::string name;
  for (std::int64_t bytes = 0; io >> name >> bytes;) {
    if (name == "read_bytes:") use.storage_read_bytes = bytes;
    if (name == "write_bytes:") use.storage_written_bytes = bytes;
  }
  // "RUNNING WAITING SLICES", nanoseconds (Documentation/scheduler/sched-stats of Linux).
  std::ifstream schedule("/proc/self/schedstat");
  if (std::int64_t running_ns = 0, waiting_ns = 0; schedule >> running_ns >> waiting_ns)
    use.core_wait_s = 1e-9 * static_cast<double>(waiting_ns);
  return use;
}

double process_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace multicard
