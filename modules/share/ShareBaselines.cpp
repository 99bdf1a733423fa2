#include "share/ShareBaselines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/Quantiles.hpp"
#include "base/Text.hpp"
#include "scaling/model/FittedModel.hpp"
#include "scaling/model/StepTimeModel.hpp"

namespace multicard {

namespace {

/// Step times of a task on any ranks.
class TaskSteps {
 public:
  TaskSteps(const ShareRecord& record, const BaselineTask& task) : task_(task) {
    std::vector<StepObservation> observations;
    for (const ShareInterval& interval : record.intervals) {
      if (interval.task != task.name || interval.measured_step_s <= 0) continue;
      measured_[interval.range.count].push_back(interval.measured_step_s);
      observations.push_back({task.step_on(interval.range.count), interval.measured_step_s});
    }
    if (!observations.empty()) model_.emplace(std::make_shared<StepTimeModel>(), observations);
  }

  bool is_measured() const { return model_.has_value(); }

  /// \pre is_measured()
  Prediction on(int ranks) const {
    Prediction step = model_->predict(task_.step_on(ranks));
    const auto known = measured_.find(ranks);
    if (known == measured_.end()) return step.trust == Trust::refused ? bounded(step, ranks) : step;
    const double factor = median(known->second) / step.seconds;
    step.seconds *= factor;
    step.low *= factor;
    step.high *= factor;
    return step;
  }

 private:
  /// Between perfect scaling from the nearest measured number of ranks, and none.
  Prediction bounded(Prediction step, int ranks) const {
    const auto nearest = std::ranges::min_element(
        measured_, {}, [&](const auto& entry) { return std::abs(std::log(double(entry.first) / ranks)); });
    const double without = median(nearest->second), with = without * nearest->first / ranks;
    step.low = std::min(with, without);
    step.high = std::max(with, without);
    step.seconds = std::clamp(step.seconds, step.low, step.high);
    return step;
  }

  const BaselineTask& task_;
  std::map<int, std::vector<double>> measured_;
  std::optional<FittedModel> model_;
};

/// A task of the simulation; `step_s` on the ranks that the policy gives it.
struct Simulated {
  int ranks = 1;
  double step_s = 0, steps_left = 0, arrived_s = 0;
  double end_s = 0;  ///< if it keeps its ranks
};

/// The ranks go to tasks in their order; with `alone` only to the first one that is there.
double simulate(std::vector<Simulated> tasks, int num_ranks, bool alone) {
  double now = 0;
  for (;;) {
    double next = std::numeric_limits<double>::infinity();
    std::vector<Simulated*> running;
    int left = num_ranks;
    for (Simulated& task : tasks) {
      if (task.steps_left <= 0) continue;
      if (task.arrived_s > now) {
        next = std::min(next, task.arrived_s);
      } else if (task.ranks <= left && !(alone && !running.empty())) {
        left -= task.ranks;
        running.push_back(&task);
        task.end_s = now + task.steps_left * task.step_s;
        next = std::min(next, task.end_s);
      }
    }
    if (next == std::numeric_limits<double>::infinity()) return now;
    for (Simulated* task : running)  // no rest that rounding would leave: it could never end
      task->steps_left = task->end_s <= next ? 0 : task->steps_left - (next - now) / task->step_s;
    now = next;
  }
}

ShareBaseline predict(const std::string& policy, const ShareRecord& record, const std::vector<BaselineTask>& tasks,
                      int num_ranks) {
  const bool alone = policy == "sequential";
  std::vector<Simulated> predicted, low, high;
  std::string reason;
  for (const BaselineTask& task : tasks) {
    const ShareProgress& progress = record.progress.at(task.name);
    const int ranks = std::min(alone ? num_ranks : task.equal_ranks, task.max_ranks);
    const TaskSteps measured(record, task);
    if (!measured.is_measured()) return {policy, 0, 0, 0, fmt::format("no step of {} was measured", task.name)};
    const Prediction step = measured.on(ranks);
    if (step.trust == Trust::refused)
      reason =
          fmt::format("between perfect scaling and none: {} was not measured on {}", task.name, counted(ranks, "rank"));
    const auto steps = static_cast<double>(progress.num_completed);
    predicted.push_back({ranks, step.seconds, steps, progress.arrived_s});
    low.push_back({ranks, step.low, steps, progress.arrived_s});
    high.push_back({ranks, step.high, steps, progress.arrived_s});
  }
  return {policy, simulate(predicted, num_ranks, alone), simulate(low, num_ranks, alone),
          simulate(high, num_ranks, alone), reason};
}

}  // namespace

std::vector<ShareBaseline> predict_baselines(const ShareRecord& record, const std::vector<BaselineTask>& tasks,
                                             int num_ranks) {
  return {predict("sequential", record, tasks, num_ranks), predict("equal", record, tasks, num_ranks)};
}

}  // namespace multicard
