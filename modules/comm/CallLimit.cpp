#include "comm/CallLimit.hpp"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/AwakeClock.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Thread.hpp"

namespace multicard {

CallLimit::CallLimit(double limit_s, std::string message)
    : message_(std::move(message)),
      thread_(start_thread("the thread that limits a call of MPI", [this, limit_s] { count(limit_s); })) {}

CallLimit::~CallLimit() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void CallLimit::count(double limit_s) {
  constexpr std::chrono::milliseconds kLook{250};
  AwakeClock clock;
  for (std::unique_lock lock(mutex_); !ended_; wake_.wait_for(lock, kLook)) {
    clock.look();
    if (clock.now() <= limit_s) continue;
    log_local_error(message_);
    std::_Exit(static_cast<int>(ExitCode::communication));  // MPI_Abort needs an MPI that runs
  }
}

}  // namespace multicard
