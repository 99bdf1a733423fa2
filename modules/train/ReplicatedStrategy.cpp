#include "train/ReplicatedStrategy.hpp"

#include <utility>

namespace multicard {

Batch ReplicatedStrategy::next(StepClock& clock) {
  clock.enter(Phase::data_wait);
  Batch batch = parts().data.next();
  clock.enter(Phase::transfer);
  return parts().data.finish(parts().data.to_device(std::move(batch)));
}

}  // namespace multicard
