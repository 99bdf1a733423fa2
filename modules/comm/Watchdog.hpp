#pragma once
/// \file Ends the job when a collective does not come back.

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "base/Clock.hpp"

namespace multicard {

/// A busy file system takes its time without a rank having stopped: so long operations on files may take at least.
inline constexpr double kDiskTimeoutS = 60;

/// Looks at the open collectives of this rank on one group of ranks. One that is open for longer than the limit calls
/// `on_expiry` with a message that names it and the step. Operations of several threads may be open at once. Groups
/// that have nothing to do with each other have a watchdog each, with a limit and a step of its own; one thread looks
/// for all of them. Time in which the process is suspended does not count.
class Watchdog {
 public:
  using Expiry = std::function<void(const std::string& message)>;
  /// Starts the thread.
  Watchdog(double limit_s, Expiry on_expiry);
  /// No operation may be open. The last watchdog of a thread ends it.
  ~Watchdog() = default;
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Another one, of the same thread: with this limit, before its first step.
  std::shared_ptr<Watchdog> apart() const;

  void set_limit(double seconds) { limit_s_ = seconds; }
  double limit() const { return limit_s_; }
  /// The step that messages name; -1 before the first.
  void set_step(std::int64_t step) { step_ = step; }

 private:
  class Thread;
  struct Operation;

 public:
  /// Marks one operation as open for its lifetime. A null watchdog is allowed.
  class Guard {
   public:
    /// \param least_limit_s a longer limit for what may take long without another rank having stopped; it holds for the
    /// operations inside it too, those of this thread and this watchdog
    Guard(Watchdog* watchdog, const char* operation, double least_limit_s = 0);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Thread* thread_;
    std::list<Operation>::iterator entry_;
  };

  /// For its lifetime each operation of this thread may take at least `least_limit_s`. It is not an operation itself:
  /// any number of them may follow each other inside it.
  class LongerTimeout {
   public:
    LongerTimeout(Watchdog* watchdog, double least_limit_s) : guard_(watchdog, nullptr, least_limit_s) {}

   private:
    Guard guard_;
  };

 private:
  Watchdog(double limit_s, std::shared_ptr<Thread> thread) : limit_s_(limit_s), thread_(std::move(thread)) {}

  std::atomic<double> limit_s_;
  std::atomic<std::int64_t> step_{-1};
  std::shared_ptr<Thread> thread_;
};

}  // namespace multicard
