#include "share/ShareBaselines.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/Quantiles.hpp"
#include "base/Text.hpp"
#include "scheduling/model/FittedModel.hpp"
#include "scheduling/model/StepTimeModel.hpp"

namespace multicard {

namespace {

/// Seconds of a step.
struct StepOn {
  double seconds = 0, low = 0, high = 0;
  bool is_bounded = false;  ///< by perfect scaling and none
};

/// Step times of a task on any ranks.
class TaskSteps {
 public:
  TaskSteps(const ShareRecord& record, const BaselineTask& task) : task_(task) {
    std::vector<StepObservation> observations;
    for (const AllocationInterval& interval : record.intervals) {
      if (interval.task != task.name || interval.measured_step_s <= 0) continue;
      const int ranks = static_cast<int>(interval.ranks);
      const NodeCounts counts = task.step_at ? counts_from(interval.placement) : NodeCounts();
      const StepPoint at = counts.empty() ? task.step_on(ranks) : task.step_at(counts);
      observations.push_back({at, interval.measured_step_s});
      // The other policies put tasks on as few nodes as possible: what was measured on more is for the model alone.
      if (at == task.step_on(ranks)) measured_[ranks].push_back(interval.measured_step_s);
    }
    if (!observations.empty()) model_.emplace(std::make_shared<StepTimeModel>(), observations);
  }

  bool is_measured() const { return model_.has_value(); }

  /// \pre is_measured()
  StepOn on(int ranks) const {
    const Prediction step = model_->predict(task_.step_on(ranks));
    const auto known = measured_.find(ranks);
    if (known == measured_.end()) {
      if (measured_.empty()) return {step.seconds, step.low, step.high, false};
      // One measured number of ranks cannot separate what scales from what does not: the model would only repeat its
      // assumptions.
      if (step.trust == Trust::refused || measured_.size() == 1) return bounded(step, ranks);
      return {step.seconds, step.low, step.high, false};
    }
    // The model is used for the width of the interval alone.
    const double factor = median(known->second) / step.seconds;
    return {step.seconds * factor, step.low * factor, step.high * factor, false};
  }
  const BaselineTask& task() const { return task_; }

 private:
  /// Between perfect scaling from the nearest measured number of ranks, and none.
  StepOn bounded(const Prediction& step, int ranks) const {
    // Nearest by ratio: from 4 ranks, 2 and 8 are equally far.
    const auto nearest = std::ranges::min_element(
        measured_, {}, [&](const auto& entry) { return std::abs(std::log(double(entry.first) / ranks)); });
    const double without = median(nearest->second), with = without * nearest->first / ranks;
    const auto [low, high] = std::minmax(with, without);
    return {std::clamp(step.seconds, low, high), low, high, true};
  }

  const BaselineTask& task_;
  std::map<int, std::vector<double>> measured_;
  std::optional<FittedModel> model_;
};

/// Which of its times a step takes.
using StepTime = double StepOn::*;

/// A task of the simulation.
struct Simulated {
  const TaskSteps* steps = nullptr;
  int wanted = 1;  ///< ranks that the policy gives it, if there are as many
  double steps_left = 0, arrived_s = 0;
  double step_s = 0, end_s = 0;  ///< if it keeps its ranks
};

/// Numbers of ranks that tasks had in a simulation.
using RanksUsed = std::set<std::pair<const TaskSteps*, int>>;

/// The ranks go to tasks in their order, at least as many as each needs; with `alone` only to the first one that is
/// there.
/// From event to event, an arrival or an end, between which ranks and step times stay. Moves and starts cost nothing,
/// which favours the baselines.
double simulate(std::vector<Simulated> tasks, int num_ranks, bool alone, StepTime time, RanksUsed& used) {
  double now = 0;
  for (;;) {
    double next = std::numeric_limits<double>::infinity();
    std::vector<Simulated*> running;
    int left = num_ranks;
    for (Simulated& task : tasks) {
      if (task.steps_left <= 0) continue;
      const int ranks = std::min(task.wanted, left);
      if (task.arrived_s > now) {
        next = std::min(next, task.arrived_s);
      } else if (ranks >= task.steps->task().least_ranks && !(alone && !running.empty())) {
        left -= ranks;
        running.push_back(&task);
        used.emplace(task.steps, ranks);
        task.step_s = task.steps->on(ranks).*time;
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

/// "a was not measured on 2 ranks, b on 3 ranks"; empty where all were.
std::string unmeasured(const RanksUsed& used) {
  std::vector<std::string> parts;
  for (const auto& [steps, ranks] : used)
    if (steps->on(ranks).is_bounded)
      parts.push_back(fmt::format("{} was not measured on {}", steps->task().name, counted(ranks, "rank")));
  std::sort(parts.begin(), parts.end());
  return parts.empty() ? "" : "between perfect scaling and none: " + join(parts, ", ");
}

AllocationBaseline predict(const std::string& policy, const ShareRecord& record, const std::vector<TaskSteps>& steps,
                           int num_ranks) {
  const bool alone = policy == "sequential";
  std::vector<Simulated> tasks;
  for (const TaskSteps& of_task : steps) {
    const BaselineTask& task = of_task.task();
    const ShareProgress& progress = record.progress.at(task.name);
    if (!of_task.is_measured()) return {policy, 0, 0, 0, fmt::format("no step of {} was measured", task.name)};
    tasks.push_back({&of_task, std::min(alone ? num_ranks : task.equal_ranks, task.max_ranks),
                     static_cast<double>(progress.num_completed), progress.arrived_s});
  }
  RanksUsed used;
  AllocationBaseline baseline{policy, simulate(tasks, num_ranks, alone, &StepOn::seconds, used), 0, 0, {}};
  // All steps short, or all long: with errors that partly cancel, the interval would be narrower.
  baseline.low_s = simulate(tasks, num_ranks, alone, &StepOn::low, used);
  baseline.high_s = simulate(tasks, num_ranks, alone, &StepOn::high, used);
  baseline.reason = unmeasured(used);
  return baseline;
}

}  // namespace

std::vector<AllocationBaseline> predict_baselines(const ShareRecord& record, const std::vector<BaselineTask>& tasks,
                                                  int num_ranks) {
  std::vector<TaskSteps> steps;
  steps.reserve(tasks.size());
  for (const BaselineTask& task : tasks)
    steps.emplace_back(record, task);
  return {predict("sequential", record, steps, num_ranks), predict("equal", record, steps, num_ranks)};
}

}  // namespace multicard
