#pragma once
/// \file How long the threads of this process ran.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/Profile.hpp"

namespace multicard {

/// Of one thread since it started, from /proc/self/task. The name of the first thread is "main".
struct ThreadTimes {
  std::string name;
  std::int64_t running_ns = 0, waiting_ns = 0;
};

/// By the system's number. Empty where the system does not say (no schedstat).
std::map<std::int64_t, ThreadTimes> thread_times();

/// Rows by name, the longest running first: what threads did between two readings that lie `window_ns` apart. A thread
/// that ended meanwhile is not counted.
std::vector<ThreadRow> thread_rows(const std::map<std::int64_t, ThreadTimes>& before,
                                   const std::map<std::int64_t, ThreadTimes>& after, std::int64_t window_ns);

}  // namespace multicard
