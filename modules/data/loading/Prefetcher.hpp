#pragma once
/// \file Batches made ahead by one thread.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "base/BoundedQueue.hpp"
#include "base/Thread.hpp"

namespace multicard {

/// Makes the batches of steps [first_step, last_step) in order, up to `prefetch` of them ahead in a thread; with 0 in
/// next(). Not collective.
template <class Batch>
class Prefetcher {
 public:
  using Make = std::function<Batch(std::int64_t step)>;

  Prefetcher(Make make, int prefetch, std::int64_t first_step, std::int64_t last_step)
      : make_(std::move(make)),
        next_step_(first_step),
        last_step_(last_step),
        ahead_(static_cast<std::size_t>(std::max(1, prefetch))) {
    if (prefetch > 0) thread_ = start_thread("the loader's thread", "loader", [this, first_step] { run(first_step); });
  }

  /// Ends the thread, without waiting for batches that are not begun.
  ~Prefetcher() {
    ahead_.cancel();
    if (thread_.joinable()) thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Waits for the next batch; none after the last. An error is thrown in the place of its batch, and at every further
  /// call.
  std::optional<Batch> next() {
    if (next_step_ >= last_step_) return std::nullopt;
    std::optional<Batch> batch = thread_.joinable() ? ahead_.pop() : make_(next_step_);
    ++next_step_;
    return batch;
  }

 private:
  /// A batch is begun when there is room for it, so that no more than `prefetch` take memory.
  void run(std::int64_t step) {
    try {
      for (; step < last_step_ && ahead_.wait_for_room(); ++step)
        ahead_.push(make_(step));
    } catch (...) {
      ahead_.close(std::current_exception());
    }
  }

  Make make_;
  std::int64_t next_step_, last_step_;
  BoundedQueue<Batch> ahead_;
  std::thread thread_;
};

}  // namespace multicard
