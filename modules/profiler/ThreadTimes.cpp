#include "profiler/ThreadTimes.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <unistd.h>

#include "base/Number.hpp"

namespace multicard {

namespace {

constexpr const char* kTasks = "/proc/self/task";

/// "RUNNING WAITING SLICES", nanoseconds (Documentation/scheduler/sched-stats of Linux).
bool read_times(const std::filesystem::path& task, ThreadTimes& times) {
  std::ifstream name(task / "comm"), stat(task / "schedstat");
  return std::getline(name, times.name) && stat >> times.running_ns >> times.waiting_ns;
}

}  // namespace

std::map<std::int64_t, ThreadTimes> thread_times() {
  std::map<std::int64_t, ThreadTimes> all;
  std::error_code error;
  for (std::filesystem::directory_iterator task(kTasks, error), end; !error && task != end; task.increment(error)) {
    const auto number = parse_number<std::int64_t>(task->path().filename().string());
    ThreadTimes times;
    if (!number || !read_times(task->path(), times)) continue;
    if (*number == getpid()) times.name = "main";
    all.emplace(*number, std::move(times));
  }
  return all;
}

std::vector<ThreadRow> thread_rows(const std::map<std::int64_t, ThreadTimes>& before,
                                   const std::map<std::int64_t, ThreadTimes>& after, std::int64_t window_ns) {
  std::map<std::string, ThreadRow> rows;
  for (const auto& [number, times] : after) {
    ThreadRow& row = rows[times.name];
    row.name = times.name;
    const auto known = before.find(number);
    const ThreadTimes since = known == before.end() ? ThreadTimes{} : known->second;
    ++row.count;
    row.window_ns += window_ns;
    // The kernel's counters are read some time before and after the window's ends.
    const std::int64_t running = std::clamp<std::int64_t>(times.running_ns - since.running_ns, 0, window_ns);
    row.running_ns += running;
    row.waiting_ns += std::clamp<std::int64_t>(times.waiting_ns - since.waiting_ns, 0, window_ns - running);
  }
  std::vector<ThreadRow> sorted;
  sorted.reserve(rows.size());
  for (const auto& [name, row] : rows)
    sorted.push_back(row);
  std::ranges::stable_sort(sorted, std::ranges::greater(), &ThreadRow::running_ns);
  return sorted;
}

}  // namespace multicard
