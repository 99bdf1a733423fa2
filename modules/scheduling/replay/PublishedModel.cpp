#include "scheduling/replay/PublishedModel.hpp"

#include <algorithm>
#include <cmath>

namespace multicard {

namespace {

constexpr const char* kSingleGpuApplication = "ncf";  // was published for one GPU alone, at its largest batch
constexpr int kNumCandidates = 50;

}  // namespace

PublishedModel::PublishedModel(std::shared_ptr<const Application> application, int batch, int gpus_per_node,
                               int largest_batch)
    : application_(std::move(application)), batch_(batch), gpus_per_node_(gpus_per_node) {
  most_gpus_ = std::min(largest_batch / application_->limits().smallest_local, application_->times().most_gpus());
  if (application_->name() == kSingleGpuApplication) most_gpus_ = 1;
}

double PublishedModel::update_seconds(const GpuPlacement& placement, const LocalBatch& batch) const {
  return application_->update_seconds(placement, batch);
}

double PublishedModel::update_gain(int global_batch, int epoch) const {
  return application_->update_gain(global_batch, epoch);
}

double PublishedModel::predicted_seconds(int gpus) const {
  const LocalBatch split = split_batch(batch_, gpus, application_->limits(), SingleGpuAccumulation::always);
  return application_->update_seconds(dense_placement(gpus, gpus_per_node_), split);
}

double PublishedModel::remaining_updates(int epoch) const {
  const int last = num_epochs() - 1;
  // Updates are known at the ends of epochs alone. Without any left, a job in its last epoch would be worth no GPUs.
  if (epoch >= last) return 1;
  const Convergence& convergence = application_->convergence();
  return convergence.updates_after(batch_, last) - convergence.updates_after(batch_, epoch);
}

const std::vector<double>& PublishedModel::seconds_to_end(int gpus) const {
  if (to_end_.size() <= static_cast<std::size_t>(gpus)) to_end_.resize(static_cast<std::size_t>(gpus) + 1);
  std::vector<double>& seconds = to_end_[static_cast<std::size_t>(gpus)];
  if (!seconds.empty()) return seconds;
  const GpuPlacement placement = dense_placement(gpus, gpus_per_node_);
  seconds.assign(static_cast<std::size_t>(num_epochs()) + 1, 0);
  // From the end, as each entry is the one after it plus an epoch. Restarts and changes of GPUs are not foreseen.
  for (int epoch = num_epochs() - 1; epoch >= 0; --epoch) {
    const LocalBatch split = batch(placement, epoch);
    const double speed = update_gain(split.global(gpus), epoch) / update_seconds(placement, split);
    const auto at = static_cast<std::size_t>(epoch);
    seconds[at] = seconds[at + 1] + (progress_at(epoch + 1) - progress_at(epoch)) / speed;
  }
  return seconds;
}

double PublishedModel::remaining_seconds(int gpus, int epoch, double progress) const {
  const std::vector<double>& seconds = seconds_to_end(gpus);
  const auto at = static_cast<std::size_t>(epoch);
  const double begin = progress_at(epoch), end = progress_at(epoch + 1);
  return seconds[at + 1] + (seconds[at] - seconds[at + 1]) * (end - progress) / (end - begin);
}

LocalBatch FixedBatchModel::batch(const GpuPlacement& placement, int /*epoch*/) const {
  return split_batch(user_batch(), num_gpus(placement), application().limits());
}

AdaptiveBatchModel::AdaptiveBatchModel(const std::shared_ptr<const Application>& application, int batch,
                                       int gpus_per_node)
    : PublishedModel(application, batch, gpus_per_node, application->limits().largest) {}

LocalBatch AdaptiveBatchModel::batch(const GpuPlacement& placement, int epoch) const {
  std::pair<GpuPlacement, int> key(normalised(placement), epoch);
  const auto found = best_.find(key);
  if (found != best_.end()) return found->second;
  const LocalBatch best = best_batch(key.first, epoch);
  best_.emplace(std::move(key), best);
  return best;
}

LocalBatch AdaptiveBatchModel::best_batch(const GpuPlacement& placement, int epoch) const {
  const int gpus = num_gpus(placement);
  const BatchLimits& limits = application().limits();
  if (application().name() == kSingleGpuApplication) return split_batch(limits.largest, gpus, limits);
  LocalBatch best;
  double best_speed = -1;
  for (const LocalBatch& split : candidate_batches(gpus, limits)) {
    const double speed = update_gain(split.global(gpus), epoch) / update_seconds(placement, split);
    if (speed <= best_speed) continue;
    best = split;
    best_speed = speed;
  }
  return best;
}

std::vector<LocalBatch> candidate_batches(int gpus, const BatchLimits& limits) {
  const double first = std::max(limits.first, limits.smallest_local * gpus);
  std::vector<LocalBatch> candidates;
  for (int i = 0; i < kNumCandidates; ++i) {
    // Geometric, as published. Rounded up, but for a power that rounding put just above a whole number.
    const double batch = first * std::pow(limits.largest / first, i / (kNumCandidates - 1.0));
    const LocalBatch split = split_batch(static_cast<int>(std::ceil(batch - 1e-8)), gpus, limits);
    if (split.rows < limits.smallest_local || (!candidates.empty() && split == candidates.back())) continue;
    candidates.push_back(split);
  }
  return candidates;
}

}  // namespace multicard
