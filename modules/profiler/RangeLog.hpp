#pragma once
/// \file What the program itself says of a window: phases of the steps, blocks of the model, allocations.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/Measures.hpp"

namespace multicard {

/// The forward pass of a block on one thread. Times are nanoseconds of the wall clock, which Kineto's are too.
struct LoggedBlock {
  std::string name;
  std::int64_t thread = 0;  ///< as the system numbers it
  std::int64_t begin = 0, end = 0;
  std::int64_t first_node = 0, end_node = 0;  ///< see BlockRange of profile/trace/Trace.hpp
};

struct LoggedPhase {
  Phase phase = Phase::other;
  std::int64_t begin = 0, end = 0;
};

/// What a thread has allocated at one moment.
struct LoggedMemory {
  std::int64_t thread = 0, at = 0, bytes = 0;
};

/// Filled while a window is open. The log that is open receives what the ranges of all threads report; there is one
/// at most in a process. It must stay open until the ranges that began in it have ended: windows open and close between
/// steps, when no block computes.
class RangeLog {
 public:
  RangeLog() = default;
  ~RangeLog() { close(); }
  RangeLog(const RangeLog&) = delete;
  RangeLog& operator=(const RangeLog&) = delete;

  /// Null while no window is open.
  static RangeLog* current() { return current_.load(std::memory_order_acquire); }

  /// False where another log is open.
  bool open();
  void close();

  void add(LoggedBlock block);
  void add(const LoggedMemory& memory);
  void add(const LoggedPhase& phase) { phases_.push_back(phase); }  ///< by the thread that trains

  std::vector<LoggedBlock> take_blocks();
  std::vector<LoggedMemory> take_memory();
  std::vector<LoggedPhase> take_phases() { return std::move(phases_); }

 private:
  inline static std::atomic<RangeLog*> current_ = nullptr;
  std::mutex mutex_;  ///< of blocks_ and memory_
  std::vector<LoggedBlock> blocks_;
  std::vector<LoggedMemory> memory_;
  std::vector<LoggedPhase> phases_;
};

/// Nanoseconds since 1970.
std::int64_t wall_clock_ns();

}  // namespace multicard
