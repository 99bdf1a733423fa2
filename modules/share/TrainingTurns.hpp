#pragma once
/// \file What the ranks of a share do between two scheduling rounds.

#include <cstdint>
#include <functional>
#include <optional>

#include "base/Clock.hpp"
#include "comm/AsyncBarrier.hpp"
#include "comm/StopMonitor.hpp"
#include "share/SharedTask.hpp"

namespace multicard {

/// A task that trains on this rank, and how a share ends it.
struct TrainingTask {
  SharedTask* task;
  const Communicator& ranks;       ///< that it runs on
  bool wants_news;                 ///< a round is to begin once enough steps have been measured
  std::function<void()> conclude;  ///< collective over its ranks, when it has ended
};

/// The ranks of each task train on their own until the next scheduling round: after some seconds, or earlier when a
/// rank requests it (a task has ended, a signal came, there is news). A task then enters the AsyncBarrier at its next
/// step boundary and continues to train until all tasks have entered, so that one with long steps keeps no other
/// waiting. All ranks of a task do what its root says (`Turn`), because only one of them can see first that all have
/// arrived.
class TrainingTurns {
 public:
  /// Collective over `world`. \param between is called now and then
  TrainingTurns(const Communicator& world, StopMonitor& stop, std::function<void()> between);

  /// Until the round begins: after `seconds` where no rank requests it earlier. \param mine nothing on a rank that has
  /// no task
  void train(const std::optional<TrainingTask>& mine, double seconds);

 private:
  enum class Turn : std::int64_t { round = 0, arrive = -1, wait = -2 };  ///< or a number of steps

  void wait_for_others();
  std::int64_t next_turn(const TrainingTask& mine, bool& waited);
  std::int64_t steps_of_turn(const SharedTask& task) const;
  double seconds_left() const { return seconds_ - seconds_since(start_); }

  StopMonitor& stop_;
  std::function<void()> between_;
  AsyncBarrier barrier_;
  TimePoint start_ = SteadyClock::now();
  double seconds_ = 0;  ///< from start_ to the next round
};

}  // namespace multicard
