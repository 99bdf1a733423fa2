#include "scheduling/replay/TableModel.hpp"

#include <limits>

namespace multicard {

// A table has rates and no batches: the whole job is one epoch, whose progress is work.
LocalBatch TableModel::batch(const GpuPlacement& /*placement*/, int /*epoch*/) const {
  return {};
}

double TableModel::update_seconds(const GpuPlacement& placement, const LocalBatch& /*batch*/) const {
  return predicted_seconds(num_gpus(placement));
}

double TableModel::update_gain(int /*global_batch*/, int /*epoch*/) const {
  return 1;
}

double TableModel::predicted_seconds(int gpus) const {
  const auto found = unit_seconds_.find(gpus);
  return found == unit_seconds_.end() ? std::numeric_limits<double>::infinity() : found->second;
}

double TableModel::remaining_updates(int epoch) const {
  return epoch == 0 ? work_ : 0;
}

double TableModel::remaining_seconds(int gpus, int epoch, double progress) const {
  return epoch == 0 ? predicted_seconds(gpus) * (work_ - progress) : 0;
}

}  // namespace multicard
