#pragma once
/// \file A barrier that ranks enter without waiting for each other.

#include <memory>

#include "comm/Communicator.hpp"

namespace multicard {

/// A barrier for ranks that do different work: each enters at a time of its own and continues to work until all have
/// entered. It is used again and again: when one barrier has ended, the next begins.
///
///     AsyncBarrier barrier(world);
///     while (!done) {
///       while (!barrier.wait(0)) work_a_little();   // after arrive()
///       ...what all ranks do together; then the next barrier begins
///     }
class AsyncBarrier {
 public:
  /// Collective.
  explicit AsyncBarrier(const Communicator& all);
  ~AsyncBarrier();
  AsyncBarrier(const AsyncBarrier&) = delete;
  AsyncBarrier& operator=(const AsyncBarrier&) = delete;

  /// Requests that all ranks arrive as soon as they can. Not collective.
  void request();
  /// Whether this rank has requested the barrier that comes next.
  bool has_requested() const;
  /// Whether another rank has requested the barrier that comes next. Not collective.
  bool is_requested();

  /// Enters the barrier; the rank may continue to work. Not collective. Once is enough.
  void arrive();
  bool has_arrived() const;
  /// Whether all ranks have arrived, which is waited for at most `seconds`, asleep between looks (infinity: until they
  /// have). True once for each barrier: the next one begins then. \throws std::logic_error before arrive()
  bool wait(double seconds);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace multicard
