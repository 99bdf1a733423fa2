#include "comm/Watchdog.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Thread.hpp"

namespace multicard {

Watchdog::Watchdog(double limit_s, Expiry on_expiry)
    : limit_s_(limit_s), on_expiry_(std::move(on_expiry)), thread_(start_thread("the watchdog", [this] { watch(); })) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    wake_.wait_for(lock, std::chrono::milliseconds(200));
    for (const OpenOperation& operation : open_) {
      if (operation.name == nullptr) continue;
      const double open_s = seconds_since(operation.since);
      const double limit_s = std::max(limit_s_.load(), operation.least_limit_s);
      if (open_s < limit_s) continue;
      const std::int64_t step = step_;
      const std::string message = fmt::format(
          "{} {} did not finish within {} s (another rank has stopped answering) See the other ranks' last lines; "
          "raise run.timeout_s if they were only slow.",
          operation.name, step < 0 ? "before the first step" : fmt::format("at step {}", step), limit_s);
      lock.unlock();
      on_expiry_(message);
      return;
    }
  }
}

Watchdog::Guard::Guard(Watchdog* watchdog, const char* operation, double least_limit_s) : watchdog_(watchdog) {
  if (!watchdog_) return;
  const std::thread::id here = std::this_thread::get_id();
  const std::lock_guard lock(watchdog_->mutex_);
  for (const OpenOperation& outer : watchdog_->open_)
    if (outer.thread == here) least_limit_s = std::max(least_limit_s, outer.least_limit_s);
  entry_ = watchdog_->open_.insert(watchdog_->open_.end(), {operation, SteadyClock::now(), least_limit_s, here});
}

Watchdog::Guard::~Guard() {
  if (!watchdog_) return;
  const std::lock_guard lock(watchdog_->mutex_);
  watchdog_->open_.erase(entry_);
}

}  // namespace multicard
