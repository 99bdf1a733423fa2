#include "train/ReplicatedStrategy.hpp"

#include <utility>

namespace multicard {

Batch ReplicatedStrategy::next(StepClock& clock) {
  clock.enter(Phase::data_wait);
  Batch batch = with().data.next();
  clock.enter(Phase::transfer);
  return with().data.finish(with().data.to_device(std::move(batch)));
}

}  // namespace multicard
