#include "train/BackgroundJob.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "comm/Agreement.hpp"
#include "device/DeviceError.hpp"

namespace multicard {

namespace {

std::optional<Error> outcome_of(const std::function<void()>& job) {
  try {
    return error_of(job);
  } catch (const std::exception& error) {
    const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
    if (const auto found = of_torch ? device_error(*of_torch, "") : std::nullopt) return *found;
    return Error(ExitCode::defect, "unexpected error", error.what(), "This is a defect: report it.");
  }
}

}  // namespace

struct BackgroundJob::Progress {
  std::mutex mutex;
  std::condition_variable changed;
  bool running = false;
  std::optional<Error> error;
};

BackgroundJob::BackgroundJob(double patience_s) : patience_s_(patience_s), progress_(std::make_shared<Progress>()) {}

BackgroundJob::~BackgroundJob() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(progress_->mutex);
  const bool done = progress_->changed.wait_for(lock, std::chrono::duration<double>(patience_s_),
                                                [&] { return !progress_->running; });
  lock.unlock();
  if (done)
    thread_.join();
  else
    thread_.detach();
}

void BackgroundJob::start(std::function<void()> job) {
  if (thread_.joinable()) throw std::logic_error("a job is started before the last one was waited for");
  progress_->running = true;
  thread_ = std::thread([progress = progress_, job = std::move(job)] {
    std::optional<Error> error = outcome_of(job);
    const std::lock_guard lock(progress->mutex);
    progress->error = std::move(error);
    progress->running = false;
    progress->changed.notify_all();
  });
}

bool BackgroundJob::running() const {
  const std::lock_guard lock(progress_->mutex);
  return progress_->running;
}

std::optional<Error> BackgroundJob::wait() {
  if (thread_.joinable()) thread_.join();
  return std::exchange(progress_->error, std::nullopt);
}

}  // namespace multicard
