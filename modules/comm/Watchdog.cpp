#include "comm/Watchdog.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include <fmt/format.h>

#include "base/AwakeClock.hpp"
#include "base/Thread.hpp"

namespace multicard {

/// A collective that has been entered and not left.
struct Watchdog::Operation {
  const Watchdog* watchdog;  ///< which outlives it
  const char* name;          ///< null: not an operation, but what LongerTimeout holds open
  double since_s;            ///< by the clock of the thread that looks
  double least_limit_s;
  std::thread::id thread;
};

/// Looks at the operations of all watchdogs made from each other.
class Watchdog::Thread {
 public:
  explicit Thread(Expiry on_expiry)
      : on_expiry_(std::move(on_expiry)), thread_(start_thread("the watchdog", "watchdog", [this] { watch(); })) {}
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  std::list<Operation>::iterator enter(const Watchdog& watchdog, const char* name, double least_limit_s);
  void leave(std::list<Operation>::iterator entry);

 private:
  void watch();

  Expiry on_expiry_;
  std::mutex mutex_;
  std::condition_variable wake_;
  AwakeClock clock_;
  std::list<Operation> open_;
  bool ending_ = false;
  std::thread thread_;
};

Watchdog::Thread::~Thread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::list<Watchdog::Operation>::iterator Watchdog::Thread::enter(const Watchdog& watchdog, const char* name,
                                                                 double least_limit_s) {
  // A list, so that the entries of other threads stay where they are. Nothing is woken: entering and leaving are to
  // cost no system call, and the thread looks five times a second anyway.
  const std::thread::id here = std::this_thread::get_id();
  const std::lock_guard lock(mutex_);
  for (const Operation& outer : open_)
    if (outer.thread == here && outer.watchdog == &watchdog)
      least_limit_s = std::max(least_limit_s, outer.least_limit_s);
  return open_.insert(open_.end(), {&watchdog, name, clock_.now(), least_limit_s, here});
}

void Watchdog::Thread::leave(std::list<Operation>::iterator entry) {
  const std::lock_guard lock(mutex_);
  open_.erase(entry);
}

void Watchdog::Thread::watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    wake_.wait_for(lock, std::chrono::milliseconds(200));
    clock_.look();
    for (const Operation& operation : open_) {
      if (operation.name == nullptr) continue;
      const double open_s = clock_.now() - operation.since_s;
      const double limit_s = std::max(operation.watchdog->limit(), operation.least_limit_s);
      if (open_s < limit_s) continue;
      const std::int64_t step = operation.watchdog->step_;
      const std::string message = fmt::format(
          "{} {} did not finish within {} s (another rank has stopped answering) See the other ranks' last lines; "
          "raise run.timeout_s (without a deck MULTICARD_TIMEOUT_S) if they were only slow.",
          operation.name, step < 0 ? "before the first step" : fmt::format("at step {}", step), limit_s);
      // The expiry ends the job and may take a while (files are removed first); other threads must not wait for the
      // mutex in the meantime, since they may hold what it needs.
      lock.unlock();
      on_expiry_(message);
      return;
    }
  }
}

Watchdog::Watchdog(double limit_s, Expiry on_expiry)
    : Watchdog(limit_s, std::make_shared<Thread>(std::move(on_expiry))) {}

std::shared_ptr<Watchdog> Watchdog::apart() const {
  return std::shared_ptr<Watchdog>(new Watchdog(limit(), thread_));
}

Watchdog::Guard::Guard(Watchdog* watchdog, const char* operation, double least_limit_s)
    : thread_(watchdog ? watchdog->thread_.get() : nullptr) {
  if (watchdog) entry_ = thread_->enter(*watchdog, operation, least_limit_s);
}

Watchdog::Guard::~Guard() {
  if (thread_) thread_->leave(entry_);
}

}  // namespace multicard
