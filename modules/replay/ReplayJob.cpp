#include "replay/ReplayJob.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Error.hpp"

namespace multicard {

int num_gpus(const JobGpus& allocation) {
  int sum = 0;
  for (const NodeGpus& share : allocation)
    sum += share.gpus;
  return sum;
}

GpuPlacement placement_of(const JobGpus& allocation) {
  GpuPlacement placement;
  for (const NodeGpus& share : allocation)
    placement.push_back(share.gpus);
  return placement;
}

void ReplayJob::allocate(JobGpus allocation, double restart_s) {
  allocation_ = std::move(allocation);
  placement_ = placement_of(allocation_);
  if (allocation_.empty()) return;
  batch_ = model().batch(placement_, epoch_);
  restart_left_ = restart_s;
  ++num_restarts_;
}

void ReplayJob::advance(double now, double seconds) {
  if (allocation_.empty() || completion_s_) return;
  const int gpus = num_gpus(allocation_);
  const double delay = std::min(restart_left_, seconds);
  restart_left_ -= delay;
  attained_service_ += delay * gpus;
  now += delay;
  seconds -= delay;
  while (seconds > 0 && !completion_s_) {
    const double update_s = model().update_seconds(placement_, batch_);
    if (!std::isfinite(update_s))
      throw DataError(fmt::format("no step time is known for {} on {} GPUs", request_.name, gpus),
                      fmt::format("{} rows a GPU, GPUs of its nodes {}", batch_.rows, fmt::join(placement_, "+")),
                      "Replay it on a smaller machine, or measure more placements.");
    const double speed = model().update_gain(batch_.global(gpus), epoch_) / update_s;
    const double end = model().progress_at(epoch_ + 1);
    double passed = seconds;
    if (progress_ + speed * seconds < end) {
      progress_ += speed * seconds;
    } else {
      passed = std::min(std::nearbyint((end - progress_) / speed), seconds);
      progress_ = end;
      if (++epoch_ == model().num_epochs()) completion_s_ = now + passed;
    }
    attained_service_ += passed * gpus;
    now += passed;
    seconds -= passed;
    if (!completion_s_) batch_ = model().batch(placement_, epoch_);
  }
}

}  // namespace multicard
