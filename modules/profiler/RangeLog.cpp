#include "profiler/RangeLog.hpp"

#include <chrono>
#include <utility>

namespace multicard {

bool RangeLog::open() {
  RangeLog* none = nullptr;
  return current_.compare_exchange_strong(none, this);
}

void RangeLog::close() {
  RangeLog* mine = this;
  current_.compare_exchange_strong(mine, nullptr);
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
