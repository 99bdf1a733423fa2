#pragma once
/// \file Batches made ahead by one thread.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/Thread.hpp"

namespace multicard {

/// Makes the batches of steps [first_step, last_step) in order, up to `prefetch` of them ahead in a thread; with 0 in
/// next(). Not collective.
template <class Batch>
class ReadAhead {
 public:
  using Make = std::function<Batch(std::int64_t step)>;

  ReadAhead(Make make, int prefetch, std::int64_t first_step, std::int64_t last_step)
      : make_(std::move(make)),
        prefetch_(static_cast<std::size_t>(prefetch)),
        next_step_(first_step),
        last_step_(last_step) {
    if (prefetch > 0) thread_ = start_thread("the loader's thread", [this, first_step] { run(first_step); });
  }

  /// Ends the thread, without waiting for batches that are not begun.
  ~ReadAhead() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Waits for the next batch; none after the last. An error is thrown in the place of its batch, and at every further
  /// call.
  std::optional<Batch> next() {
    if (next_step_ >= last_step_) return std::nullopt;
    if (prefetch_ == 0) {
      std::optional<Batch> batch = make_(next_step_);
      ++next_step_;
      return batch;
    }
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !ahead_.empty() || error_; });
    if (ahead_.empty()) std::rethrow_exception(error_);
    std::optional<Batch> batch = std::move(ahead_.front());
    ahead_.pop_front();
    ++next_step_;
    room_.notify_one();
    return batch;
  }

 private:
  void run(std::int64_t step) {
    std::unique_lock lock(mutex_);
    for (; step < last_step_; ++step) {
      room_.wait(lock, [&] { return stopping_ || ahead_.size() < prefetch_; });
      if (stopping_) return;
      lock.unlock();
      std::optional<Batch> batch;
      std::exception_ptr error;
      try {
        batch = make_(step);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (batch) ahead_.push_back(std::move(*batch));
      error_ = error;
      ready_.notify_one();
      if (error_) return;
    }
  }

  Make make_;
  std::size_t prefetch_;
  std::int64_t next_step_, last_step_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::deque<Batch> ahead_;
  std::exception_ptr error_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace multicard
