#include "profiler/RangeLog.hpp"

#include <array>
#include <chrono>
#include <utility>

#include <pthread.h>
#include <unistd.h>

namespace multicard {

namespace {

/// As thread_times() names it.
std::string own_thread_name() {
  std::array<char, 16> name{};
  if (gettid() == getpid()) return "main";
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

}  // namespace

bool RangeLog::open() {
  RangeLog* none = nullptr;
  return current_.compare_exchange_strong(none, this);
}

void RangeLog::close() {
  const std::lock_guard lock(reports_);
  RangeLog* mine = this;
  current_.compare_exchange_strong(mine, nullptr);
}

template <class Add>
void RangeLog::report_by(const Add& add) {
  if (!takes_reports()) return;
  const std::lock_guard lock(reports_);
  if (takes_reports()) add(current()->timeline_);
}

void RangeLog::report(const WorkRange& work) {
  report_by([&](Timeline& timeline) {
    timeline.work.push_back(work);
    // The thread may end before the window does.
    if (!timeline.thread_names.contains(work.thread)) timeline.thread_names.emplace(work.thread, own_thread_name());
  });
}

void RangeLog::report(const CollectiveLaunch& launch) {
  report_by([&](Timeline& timeline) { timeline.launches.push_back(launch); });
}

void RangeLog::report(InstantEvent moment) {
  report_by([&](Timeline& timeline) { timeline.moments.push_back(std::move(moment)); });
}

void RangeLog::report(const CounterValue& value) {
  report_by([&](Timeline& timeline) { timeline.counters.push_back(value); });
}

void RangeLog::report_event_destroy(std::int64_t begin, std::int64_t end) {
  const std::lock_guard lock(reports_);
  if (RangeLog* log = current()) log->event_destroys_.push_back({gettid(), begin, end});
}

void RangeLog::add(LoggedBlock block) {
  const std::lock_guard lock(mutex_);
  blocks_.push_back(std::move(block));
}

void RangeLog::add(const LoggedMemory& memory) {
  const std::lock_guard lock(mutex_);
  memory_.push_back(memory);
}

std::vector<LoggedMemory> RangeLog::take_memory() {
  const std::lock_guard lock(mutex_);
  return std::move(memory_);
}

std::vector<LoggedBlock> RangeLog::take_blocks() {
  const std::lock_guard lock(mutex_);
  return std::move(blocks_);
}

std::int64_t wall_clock_ns() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::system_clock;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace multicard
