#pragma once
/// \file Where ranks that work apart come together from time to time.

#include <memory>

#include "comm/Communicator.hpp"

namespace multicard {

/// Ranks of a communicator that do different work meet at times that each of them chooses for itself: one arrives and
/// goes on working until all have arrived. One meeting follows the other.
///
///     Meeting meeting(world);
///     while (!done) {
///       while (!meeting.wait(0)) work_a_little();   // after arrive()
///       ...what all ranks do together; then the next meeting begins
///     }
class Meeting {
 public:
  /// Collective.
  explicit Meeting(const Communicator& all);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// Asks all ranks to arrive as soon as they can. Not collective.
  void call();
  /// Whether another rank has called the meeting that comes next. Not collective.
  bool is_called();

  /// Tells the others that this rank is ready; it may go on working. Not collective. Once is enough.
  void arrive();
  bool has_arrived() const;
  /// Whether all ranks have arrived, which is waited for at most `seconds`, asleep between looks (infinity: until they
  /// have). True once for each meeting: the next one begins then. \throws std::logic_error before arrive()
  bool wait(double seconds);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace multicard
