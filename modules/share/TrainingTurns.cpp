#include "share/TrainingTurns.hpp"

#include <algorithm>
#include <utility>

namespace multicard {

namespace {

/// The polling interval of a task that trains.
constexpr double kTurnS = 0.1;
/// Polling interval for requests and signals on ranks that have nothing to do.
constexpr double kIdleS = 0.2;

}  // namespace

TrainingTurns::TrainingTurns(const Communicator& world, StopMonitor& stop, std::function<void()> between)
    : stop_(stop), between_(std::move(between)), barrier_(world) {}

// Arriving again is harmless: a rank of a task that has entered the barrier comes here for the end of it alone.
void TrainingTurns::wait_for_others() {
  barrier_.arrive();
  while (!barrier_.wait(kIdleS))
    if (stop_.stop_requested())
      barrier_.request();
    else
      between_();
}

void TrainingTurns::train(const std::optional<TrainingTask>& mine, double seconds) {
  start_ = SteadyClock::now();
  seconds_ = seconds;
  if (!mine) return wait_for_others();
  const Communicator& ranks = mine->ranks;
  // A broadcast for each turn is affordable, since a turn lasts about kTurnS, or a step where that is longer.
  for (bool waited = false;;) {
    const std::int64_t turn = ranks.broadcast_value(ranks.is_root() ? next_turn(*mine, waited) : 0);
    if (turn > 0) {
      mine->task->advance(turn, stop_);
      between_();
      if (mine->task->has_ended()) mine->conclude();
    } else if (turn == static_cast<std::int64_t>(Turn::arrive)) {
      barrier_.arrive();
    } else if (turn == static_cast<std::int64_t>(Turn::round)) {
      if (!ranks.is_root()) wait_for_others();
      return;
    }
  }
}

// On the root of a task. Training continues after arrive(), one step a turn, since other tasks may have long steps; a
// task that has ended can only wait.
std::int64_t TrainingTurns::next_turn(const TrainingTask& mine, bool& waited) {
  const SharedTask& task = *mine.task;
  const bool has_ended = task.has_ended();
  if (has_ended || (mine.wants_news && task.has_enough_steps())) barrier_.request();
  if (barrier_.has_arrived()) {
    // Once for as long as a step takes, which lets the others come to the end of theirs; then between steps.
    const double seconds = has_ended ? kIdleS : waited ? 0 : task.step_s();
    waited = true;
    if (barrier_.wait(seconds)) return static_cast<std::int64_t>(Turn::round);
    return has_ended ? static_cast<std::int64_t>(Turn::wait) : 1;
  }
  if (barrier_.has_requested() || seconds_left() <= 0 || barrier_.is_requested())
    return static_cast<std::int64_t>(Turn::arrive);
  return steps_of_turn(task);
}

std::int64_t TrainingTurns::steps_of_turn(const SharedTask& task) const {
  const double step_s = task.step_s();
  if (step_s <= 0) return 1;
  const double seconds = std::min(kTurnS, seconds_left());
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds / step_s));
}

}  // namespace multicard
