#include "scheduling/policy/JobModel.hpp"

#include <algorithm>
#include <cmath>

namespace multicard {

std::vector<int> usable_counts(const JobModel& model, const Machine& machine) {
  std::vector<int> counts;
  const int most = std::min(model.most_gpus(), machine.gpus());
  for (int gpus = 1; gpus <= most; gpus += gpus < machine.gpus_per_node ? 1 : machine.gpus_per_node)
    if (std::isfinite(model.remaining_seconds(gpus, 0, 0))) counts.push_back(gpus);
  return counts;
}

}  // namespace multicard
