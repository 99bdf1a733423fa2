#include "tasks/MovableRun.hpp"

#include "base/Clock.hpp"

namespace multicard {

std::optional<TrainingState> MovableRun::take_state() {
  const int root = all_.allreduce(run_ && run_->is_root() ? all_.rank() : -1, ReduceOp::max);
  if (root < 0) return std::nullopt;
  const TimePoint start = SteadyClock::now();
  TrainingState state;
  if (run_) state = run_->collect();
  run_.reset();
  times_.collect = seconds_since(start);
  const TimePoint sending = SteadyClock::now();
  broadcast(state, all_, root);
  times_.broadcast = seconds_since(sending);
  return state;
}

void MovableRun::move_to(const std::optional<Communicator>& next) {
  times_ = {};
  const std::optional<TrainingState> state = take_state();
  const TimePoint start = SteadyClock::now();
  if (!next) {
    model_.reset();
    return;
  }
  const void* key = next->is_null() ? nullptr : &next->impl();
  TrainingParts parts{std::move(model_), collectives_[key]};
  run_ = state ? std::make_unique<TaskRun>(options_, deck_, *next, how_, *state, std::move(parts))
               : std::make_unique<TaskRun>(options_, deck_, *next, how_, std::move(parts));
  model_ = run_->model();
  if (!collectives_[key]) known_.push_back(*next);
  collectives_[key] = run_->collectives();
  times_.build = seconds_since(start);
}

}  // namespace multicard
