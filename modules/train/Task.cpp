#include "train/Task.hpp"

namespace multicard {

Batch Batch::rows(std::int64_t first, std::int64_t count) const {
  Batch part = *this;
  part.num_rows = count;
  part.inputs = inputs.narrow(0, first, count);
  part.targets = targets.narrow(0, first, count);
  return part;
}

}  // namespace multicard
