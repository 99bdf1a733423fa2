#pragma once
/// \file What the steps of one task have shown, on the ranks that it has had.

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "scheduling/model/OnlineModel.hpp"
#include "scheduling/rates/Machine.hpp"
#include "scheduling/rates/RateTable.hpp"

namespace multicard {

/// Rates by ranks.
struct LearntRates {
  RateTable rates;                  ///< steps per second, measured or predicted; empty: nothing is known yet
  std::set<RanksOnNodes> unproven;  ///< whose rate is a prediction that only a measurement can confirm
};

/// Steps of a task with a constant global batch, measured as it runs, and the model fitted to them (StepTimeModel).
/// Steps are kept by placement: how many ranks were on how many nodes, and on the fullest of them.
class TaskRates {
 public:
  /// On `machine`. \param links known parameters of the model, as FitOptions::known takes them
  TaskRates(double global_batch, Machine machine, const std::vector<std::optional<double>>& links = {});
  /// On as many nodes with `ranks_per_node` ranks as a number of ranks needs: rates are by ranks alone.
  TaskRates(double global_batch, int ranks_per_node, const std::vector<std::optional<double>>& links = {});

  /// The task runs on ranks that are so spread over nodes.
  void run_on(const NodeCounts& counts);
  /// The same on as few nodes as possible.
  void run_on(int ranks) { run_on(packed(ranks)); }
  /// Numbers of ranks.
  const std::set<int>& has_run_on() const { return has_run_on_; }
  /// Bytes of gradients that a step all-reduces, once they are known.
  void set_volume(double bytes) { volume_ = bytes; }
  /// Seconds of steps, oldest first.
  void add(const NodeCounts& counts, std::span<const double> step_s);
  void add(int ranks, std::span<const double> step_s) { add(packed(ranks), step_s); }

  /// Median seconds of the newest steps; nothing where none was measured.
  std::optional<double> measured(const NodeCounts& counts) const { return model_.measured(point(counts)); }
  std::optional<double> measured(int ranks) const { return measured(packed(ranks)); }
  /// Rates on `candidates`, numbers of ranks that rise. On a machine of several nodes there are rows for the fewest
  /// nodes that hold them, for one more, for the most, and for those that were measured; what was not measured is
  /// predicted for ranks that are spread evenly. Predictions that the model refuses are unproven, and left out far from
  /// what was measured: a task grows step by step. Measurements on one number of ranks do not say which part of a step
  /// becomes shorter with fewer rows, but do what the same ranks take on other nodes, where the links are known.
  LearntRates on(const std::vector<int>& candidates) const;
  /// A step, as models of its time take it.
  StepPoint point(const NodeCounts& counts) const;
  /// The same on as few nodes as possible.
  StepPoint point(int ranks) const { return point(packed(ranks)); }

  /// Steps that are remembered of each placement.
  static constexpr std::size_t kRemembered = 64;

 private:
  NodeCounts packed(int ranks) const;
  std::set<int> nodes_for(int ranks) const;
  std::optional<double> measured_on(int ranks, int nodes) const;
  std::vector<int> measured_ranks() const;
  void add_row(int ranks, int nodes, const std::vector<int>& measured, LearntRates& learnt,
               std::vector<RateRow>& rows) const;

  double global_batch_;
  std::optional<Machine> machine_;
  int ranks_per_node_;
  double volume_ = 1;
  std::set<int> has_run_on_;
  std::set<NodeCounts> places_;  ///< that it has had
  OnlineModel model_;
};

}  // namespace multicard
