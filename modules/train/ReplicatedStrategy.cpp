#include "train/ReplicatedStrategy.hpp"

namespace multicard {

ReplicatedStrategy::ReplicatedStrategy(Task& task, TensorCollectives& collectives,
                                       const GradientReducer::Options& options, Reading reading)
    : ReducingStrategy(task, collectives, options), reading_(reading) {}

void ReplicatedStrategy::start_reading(std::int64_t first_step, std::int64_t last_step) {
  task().start_reading({collectives().rank(), collectives().size(), first_step, last_step, reading_});
}

Batch ReplicatedStrategy::next(StepClock& clock) {
  clock.enter(Phase::data_wait);
  Batch batch = task().next();
  clock.enter(Phase::transfer);
  return task().finish_input(task().to_device(std::move(batch)));
}

}  // namespace multicard
