#include "scheduling/replay/MeasuredJobs.hpp"

#include <algorithm>
#include <optional>

namespace multicard {

namespace {

/// Updates from `progress` in `epoch` to the end, at the user's batch. \pre the job can run on `gpus`
double updates_left(const JobModel& model, int gpus, int epoch, double progress) {
  return model.remaining_seconds(gpus, epoch, progress) / model.predicted_seconds(gpus);
}

}  // namespace

MeasuredJobs::Known& MeasuredJobs::known_of(ReplayJob& job) {
  const auto found = known_.find(job.view().name);
  if (found != known_.end()) return found->second;
  std::vector<int> usable = usable_counts(job.model(), machine_);
  TaskView& view = job.view();
  view.usable_ranks = usable;
  view.max_ranks = usable.empty() ? 0 : usable.back();
  view.min_ranks = usable.empty() ? 1 : usable.front();
  view.move_s = restart_s_;
  // At least a row for each rank, as TaskRates divides the batch; models without batches have no other.
  int batch = view.max_ranks;
  double updates = 0;
  if (!usable.empty()) {
    const LocalBatch local = job.model().batch(dense_placement(usable.front(), machine_.gpus_per_node), 0);
    batch = std::max(batch, local.global(usable.front()));
    updates = updates_left(job.model(), usable.front(), 0, 0);
  }
  return known_.emplace(view.name, Known{TaskRates(batch, machine_.gpus_per_node), std::move(usable), updates})
      .first->second;
}

void MeasuredJobs::observe(ReplayJob& job) {
  Known& known = known_of(job);
  TaskView& view = job.view();
  if (known.usable.empty()) return;
  if (const std::optional<double> step_s = job.update_seconds()) {
    known.rates.run_on(view.ranks());
    known.rates.add(view.ranks(), std::span(&*step_s, 1));
    LearntRates learnt = known.rates.on(known.usable);
    view.rates = std::move(learnt.rates);
    view.unproven = std::move(learnt.unproven);
    view.proven_on = known.rates.has_run_on();
  }
  const double left = updates_left(job.model(), known.usable.front(), view.epoch, view.progress);
  // Blind, a job is expected to need as much as it has had, at any age.
  view.steps_left = std::max(1.0, work_ == RemainingWork::known ? left : known.all_updates - left);
}

}  // namespace multicard
