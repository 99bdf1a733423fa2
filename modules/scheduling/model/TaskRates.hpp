#pragma once
/// \file What the steps of one task have shown, on the numbers of ranks that it has had.

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "scheduling/model/OnlineModel.hpp"
#include "scheduling/rates/RateTable.hpp"

namespace multicard {

/// Rates by ranks.
struct LearntRates {
  RateTable rates;         ///< steps per second, measured or predicted; empty: nothing is known yet
  std::set<int> unproven;  ///< ranks whose rate is a prediction that only a measurement can confirm
};

/// Steps of a task with a constant global batch, measured as it runs, and the model fitted to them (StepTimeModel).
class TaskRates {
 public:
  /// \param links known parameters of the model, as FitOptions::known takes them
  TaskRates(double global_batch, int ranks_per_node, const std::vector<std::optional<double>>& links = {});

  /// The task runs on `ranks` ranks.
  void run_on(int ranks) { has_run_on_.insert(ranks); }
  const std::set<int>& has_run_on() const { return has_run_on_; }
  /// Bytes of gradients that a step all-reduces, once they are known.
  void set_volume(double bytes) { volume_ = bytes; }
  /// Seconds of steps on `ranks` ranks, oldest first.
  void add(int ranks, std::span<const double> step_s);

  /// Median seconds of the newest steps on `ranks` ranks; nothing where none was measured.
  std::optional<double> measured(int ranks) const { return model_.measured(point(ranks)); }
  /// Rates on `candidates`, numbers of ranks that rise. Predictions that the model refuses are unproven, and left out
  /// far from what was measured: a task grows step by step. Measurements on one number of ranks do not say which part
  /// of a step becomes shorter with fewer rows.
  LearntRates on(const std::vector<int>& candidates) const;
  /// A step on `ranks` ranks, as models of its time take it.
  StepPoint point(int ranks) const;

  /// Steps that are remembered of each number of ranks.
  static constexpr std::size_t kRemembered = 64;

 private:
  double global_batch_;
  int ranks_per_node_;
  double volume_ = 1;
  std::set<int> has_run_on_;
  OnlineModel model_;
};

}  // namespace multicard
