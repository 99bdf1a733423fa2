#pragma once
/// \file Values that threads hand to other threads.

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

namespace multicard {

/// A queue of at most `capacity` values, from any number of threads to any number of threads, in the order pushed.
///
/// It ends in one of two ways, both of which wake everyone who waits:
/// - close(): nothing more comes. What is queued can still be popped; after it pop() returns nothing, or throws the
///   error that the queue was closed with, at every call. On a queue that has ended it does nothing.
/// - cancel(): no more is wanted. What is queued is destroyed, an error of close() forgotten, and pop() returns
/// nothing.
///
/// The queue must outlive every call: join the threads that use it before it is destroyed.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity = std::numeric_limits<std::size_t>::max()) : capacity_(capacity) {
    if (capacity == 0) throw std::logic_error("a queue without room");
  }
  BoundedQueue(const BoundedQueue&) = delete;
  BoundedQueue& operator=(const BoundedQueue&) = delete;

  /// Waits until a value can be pushed without waiting; false when the queue has ended. For a thread that pushes alone:
  /// it can so begin to make a value when there is room for it.
  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    return wait_for_room(lock);
  }

  /// Waits for room. False, and the value is destroyed, when the queue has ended.
  bool push(T value) {
    {
      std::unique_lock lock(mutex_);
      if (!wait_for_room(lock)) return false;
      values_.push_back(std::move(value));
    }
    filled_.notify_one();
    return true;
  }

  /// Waits for the next value; none when the queue has ended and is empty. Throws the error of close() then.
  std::optional<T> pop() {
    std::optional<T> value;
    {
      std::unique_lock lock(mutex_);
      filled_.wait(lock, [this] { return has_ended_ || !values_.empty(); });
      if (values_.empty()) {
        if (error_) std::rethrow_exception(error_);
        return std::nullopt;
      }
      value = std::move(values_.front());
      values_.pop_front();
    }
    room_.notify_one();
    return value;
  }

  /// Nothing more is pushed, because of `error` where there is one.
  void close(std::exception_ptr error = nullptr) {
    const std::lock_guard lock(mutex_);
    if (!has_ended_) error_ = std::move(error);
    end();
  }

  /// Nothing more is popped.
  void cancel() {
    std::deque<T> unwanted;  // destroyed without the lock: a value may do anything then
    const std::lock_guard lock(mutex_);
    unwanted.swap(values_);
    error_ = nullptr;
    end();
  }

 private:
  bool wait_for_room(std::unique_lock<std::mutex>& lock) {
    room_.wait(lock, [this] { return has_ended_ || values_.size() < capacity_; });
    return !has_ended_;
  }
  void end() {
    has_ended_ = true;
    room_.notify_all();
    filled_.notify_all();
  }

  const std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::deque<T> values_;
  std::exception_ptr error_;
  bool has_ended_ = false;
};

}  // namespace multicard
