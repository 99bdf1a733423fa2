#pragma once
/// \file Ends the job when a collective does not come back.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "base/Clock.hpp"

namespace multicard {

/// A busy file system takes its time without a rank having stopped: so long operations on files may take at least.
inline constexpr double kDiskTimeoutS = 60;

/// A collective that has been entered and not left.
struct OpenOperation {
  const char* name;  ///< null: not an operation, but what LongerTimeout holds open
  TimePoint since;
  double least_limit_s;
  std::thread::id thread;
};

/// A thread that looks at the open collectives of this rank. One that is open for longer than the limit calls
/// `on_expiry` with a message that names it and the step. Operations of several threads may be open at once.
class Watchdog {
 public:
  using Expiry = std::function<void(const std::string& message)>;
  Watchdog(double limit_s, Expiry on_expiry);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void set_limit(double seconds) { limit_s_ = seconds; }
  double limit() const { return limit_s_; }
  /// The step that messages name; -1 before the first.
  void set_step(std::int64_t step) { step_ = step; }

  /// Marks one operation as open for its lifetime. A null watchdog is allowed.
  class Guard {
   public:
    /// \param least_limit_s a longer limit for what may take long without another rank having stopped; it holds for the
    /// operations inside it too
    Guard(Watchdog* watchdog, const char* operation, double least_limit_s = 0);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Watchdog* watchdog_;
    std::list<OpenOperation>::iterator entry_;
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
  void watch();

  std::atomic<double> limit_s_;
  std::atomic<std::int64_t> step_{-1};
  Expiry on_expiry_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<OpenOperation> open_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace multicard
