#pragma once
/// \file What the program itself says of a window: phases of the steps, blocks of the model, allocations, and for a
/// time line other work of its threads.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/Measures.hpp"
#include "profile/timeline/Timeline.hpp"

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

/// A call of the CUDA runtime that Kineto leaves out.
struct LoggedCall {
  std::int64_t thread = 0;
  std::int64_t begin = 0, end = 0;
};

/// What a thread has allocated at one moment.
struct LoggedMemory {
  std::int64_t thread = 0, at = 0, bytes = 0;
};

/// Whether a log takes what only a time line shows.
enum class ForTimeline : std::uint8_t { no, yes };

/// Filled while a window is open. The log that is open receives what the ranges of all threads report; there is one
/// at most in a process. It must stay open until the blocks that began in it have ended: windows open and close between
/// steps, when no block computes. Work, moments and counters come at any time from any thread: report() holds back
/// close().
class RangeLog {
 public:
  explicit RangeLog(ForTimeline for_timeline = ForTimeline::no) : has_timeline_(for_timeline == ForTimeline::yes) {}
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

  /// Whether report() is of any use at the moment.
  static bool takes_reports() {
    const RangeLog* log = current();
    return log && log->has_timeline_;
  }
  /// To the open log, if it is for a time line. Any thread; of work the one that has done it.
  /// @{
  static void report(const WorkRange& work);
  static void report(const CollectiveLaunch& launch);
  static void report(InstantEvent moment);
  static void report(const CounterValue& value);
  /// @}

  /// A call of cudaEventDestroy, to the open log, if any. Any thread.
  static void report_event_destroy(std::int64_t begin, std::int64_t end);

  void add_step(const Span& step) { timeline_.steps.push_back(step); }  ///< by the thread that trains

  /// Steps, work with the names of its threads, moments and counters; after close().
  Timeline take_timeline() { return std::move(timeline_); }
  std::vector<LoggedCall> take_event_destroys() { return std::move(event_destroys_); }  ///< after close()
  std::vector<LoggedBlock> take_blocks();
  std::vector<LoggedMemory> take_memory();
  std::vector<LoggedPhase> take_phases() { return std::move(phases_); }

 private:
  template <class Add>
  static void report_by(const Add& add);

  inline static std::atomic<RangeLog*> current_ = nullptr;
  /// Of timeline_ and event_destroys_, and of the life of the log that gets a report.
  inline static std::mutex reports_;
  const bool has_timeline_;
  Timeline timeline_;
  std::vector<LoggedCall> event_destroys_;
  std::mutex mutex_;  ///< of blocks_ and memory_
  std::vector<LoggedBlock> blocks_;
  std::vector<LoggedMemory> memory_;
  std::vector<LoggedPhase> phases_;
};

/// Nanoseconds since 1970.
std::int64_t wall_clock_ns();

}  // namespace multicard
