#pragma once
/// \file What `multicard plan --json` printed, and what a replay printed.

#include <optional>
#include <string>
#include <vector>

namespace multicard::post {

/// A task on some GPUs for some time.
struct PlannedInterval {
  std::string task;
  int gpus = 0, nodes = 0;
  double start_s = 0;
  std::optional<double> end_s;  ///< none: it has no end, as in a split of rates
};

/// The plan for one machine.
struct PlannedMachine {
  std::string objective;  ///< makespan, weighted-throughput, fairness or average-completion
  int gpus = 0;
  std::optional<double> value;  ///< of the objective; none where no plan is possible
  std::string obstacle;         ///< why not; empty where it is not said
  std::vector<PlannedInterval> schedule;
  std::optional<double> equal, sequential;  ///< values of an equal split, and of one task after another
  std::optional<double> gap;                ///< how far from the optimum it may be, as a share
};

/// A policy of a replay, simulated.
struct ReplayedPolicy {
  std::string policy;
  int jobs = 0;
  double average_s = 0, p99_s = 0, makespan_s = 0;  ///< completion times, and that of the whole workload
};

/// The lines of one file: plans, of one objective, or policies of a replay; one of the two lists is empty.
struct PlanFile {
  std::string path;
  std::vector<PlannedMachine> machines;
  std::vector<ReplayedPolicy> policies;
};

/// Whether a file looks like one: its first lines are JSON objects with an objective or a policy.
bool is_plan_file(const std::string& path);

/// \throws DataError where a line is neither, or the lines are of several kinds
PlanFile read_plan_file(const std::string& path);

}  // namespace multicard::post
