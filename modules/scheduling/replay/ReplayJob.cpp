#include "scheduling/replay/ReplayJob.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

GpuPlacement ring_of(const Placement& placement) {
  GpuPlacement ring;
  for (const NodeShare& share : placement)
    ring.push_back(share.gpus);
  return ring;
}

}  // namespace

ReplayJob::ReplayJob(JobRequest request) : model_(std::move(request.model)) {
  view_.name = std::move(request.name);
  view_.submitted_s = request.submission_s;
  view_.requested = request.gpus;
  view_.model = model_.get();
}

std::optional<double> ReplayJob::update_seconds() const {
  if (view_.placement.empty() || restart_left_ > 0) return std::nullopt;
  return model().update_seconds(ring_, batch_);
}

void ReplayJob::allocate(Placement placement, double restart_s) {
  view_.placement = std::move(placement);
  ring_ = ring_of(view_.placement);
  if (ring_.empty()) return;
  batch_ = model().batch(ring_, view_.epoch);
  restart_left_ = restart_s;
  if (has_started_) ++view_.num_restarts;
  has_started_ = true;
}

// Epochs end at whole seconds after the time at which they were continued, as in the published simulator, whose results
// this must reproduce. A restart occupies the GPUs, so that it counts as service.
void ReplayJob::advance(double now, double seconds) {
  if (ring_.empty() || completion_s_) return;
  const int gpus = view_.ranks();
  const double delay = std::min(restart_left_, seconds);
  restart_left_ -= delay;
  view_.attained_service += delay * gpus;
  now += delay;
  seconds -= delay;
  while (seconds > 0 && !completion_s_) {
    const double update_s = model().update_seconds(ring_, batch_);
    if (!std::isfinite(update_s))
      throw DataError(fmt::format("no step time is known for {} on {} GPUs", view_.name, gpus),
                      fmt::format("{} rows a GPU, GPUs of its nodes {}", batch_.rows, fmt::join(ring_, "+")),
                      "Replay it on a smaller machine, or measure more placements.");
    const double speed = model().update_gain(batch_.global(gpus), view_.epoch) / update_s;
    const double end = model().progress_at(view_.epoch + 1);
    double passed = seconds;
    if (view_.progress + speed * seconds < end) {
      view_.progress += speed * seconds;
    } else {
      passed = std::min(std::nearbyint((end - view_.progress) / speed), seconds);
      view_.progress = end;
      if (++view_.epoch == model().num_epochs()) completion_s_ = now + passed;
    }
    view_.attained_service += passed * gpus;
    now += passed;
    seconds -= passed;
    if (!completion_s_) batch_ = model().batch(ring_, view_.epoch);
  }
}

}  // namespace multicard
