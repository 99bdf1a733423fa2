#include "train/BackgroundJob.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "base/Thread.hpp"
#include "device/DeviceError.hpp"
#include "profiler/WorkScope.hpp"

namespace multicard {

namespace {

std::optional<Error> outcome_of(const std::function<void()>& job) {
  try {
    const WorkScope work(WorkKind::checkpoint, "write checkpoint");
    job();
    return std::nullopt;
  } catch (const std::exception& error) {
    return any_error(error);
  }
}

}  // namespace

// Owned by the thread as well: one that is detached at the end sets it after the BackgroundJob is gone.
struct BackgroundJob::Progress {
  std::mutex mutex;
  std::condition_variable changed;
  bool running = false;
  std::optional<Error> error;
};

BackgroundJob::BackgroundJob(double timeout_s) : timeout_s_(timeout_s), progress_(std::make_shared<Progress>()) {}

BackgroundJob::~BackgroundJob() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(progress_->mutex);
  const bool done =
      progress_->changed.wait_for(lock, std::chrono::duration<double>(timeout_s_), [&] { return !progress_->running; });
  lock.unlock();
  if (done)
    thread_.join();
  else
    thread_.detach();
}

void BackgroundJob::start(std::function<void()> job) {
  if (thread_.joinable()) throw std::logic_error("a job is started before the last one was waited for");
  // The job cannot end before it is marked as running.
  const std::lock_guard lock(progress_->mutex);
  thread_ = start_thread("the writer of checkpoints", "checkpoints", [progress = progress_, job = std::move(job)] {
    std::optional<Error> error = outcome_of(job);
    const std::lock_guard ending(progress->mutex);
    progress->error = std::move(error);
    progress->running = false;
    progress->changed.notify_all();
  });
  progress_->running = true;
}

bool BackgroundJob::running() const {
  const std::lock_guard lock(progress_->mutex);
  return progress_->running;
}

std::optional<Error> BackgroundJob::wait() {
  // Joining orders what the thread wrote before what is read here, without the mutex.
  if (thread_.joinable()) thread_.join();
  return std::exchange(progress_->error, std::nullopt);
}

}  // namespace multicard
