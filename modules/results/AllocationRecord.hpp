#pragma once
/// \file What a results file says of the ranks of a share's tasks (docs/results_file.md, /allocation).

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "results/RowColumn.hpp"

namespace multicard {

/// A task of a share on constant ranks; seconds count from the first launch, without the time between launches.
struct AllocationInterval {
  std::string task;
  std::int64_t first_rank = 0, ranks = 0;
  double start_s = 0;
  double end_s = -1;            ///< below 0: it has not ended; in a results file all have
  double predicted_step_s = 0;  ///< when it began; 0: unknown
  double measured_step_s = 0;   ///< median of the newest steps in its last round; 0: none was measured
  std::string rank_list = {};   ///< "0-2, 5"; empty: `ranks` consecutive ones from first_rank
  std::string placement = {};   ///< how many ranks on each node, most first: "2+1"; empty: unknown
};

/// Consecutive ranks.
struct RankRun {
  std::int64_t first = 0, last = 0;
};

/// The ranks of an interval, rising; empty where its list cannot be read.
std::vector<RankRun> rank_runs(const AllocationInterval& interval);
bool has_rank(const AllocationInterval& interval, std::int64_t rank);

/// A decided change of a task's number of ranks, or of the number on each node.
struct AllocationChange {
  double time_s = 0;
  std::string task;
  std::int64_t from = 0, to = 0;
  double predicted_gain = 0;  ///< of the objective, as a share; of all changes at one time together
  double cost_s = 0;          ///< that the moves were predicted to take
  std::string reason;
  std::string placement = {};  ///< as in AllocationInterval, after the change; empty: no ranks, or unknown
};

/// What a step of a task takes on its ranks where they are, and on as many ranks over another number of nodes: rows of
/// one time are the placements that a decision has compared.
struct AllocationPlacement {
  double time_s = 0;
  std::string task;
  std::string placement;        ///< as in AllocationInterval
  double predicted_step_s = 0;  ///< or measured
  std::int64_t is_chosen = 0;   ///< 1: the task has it
};

/// A decision to change nothing.
struct RejectedChange {
  double time_s = 0;
  double predicted_gain = 0;  ///< of the best other split, as a share
  double cost_s = 0;          ///< of its moves
  std::string reason;
};

/// Seconds until all tasks would have ended under another policy: training steps alone, without start-up, evaluations
/// and moves. The limits hold if all step times are at theirs: of a 95 % interval, or, where too little was measured
/// for one, of a task that scales perfectly and of one that does not scale.
struct AllocationBaseline {
  std::string policy;  ///< a word of policy.name
  double predicted_s = 0, low_s = 0, high_s = 0;
  std::string reason;  ///< why limits are those of scaling, or why nothing is predicted (0 s); else empty
};

/// \name The columns of each table
/// They are defined here alone: results files, share.json and their readers know the rules (RowColumn) and no names.
/// @{
constexpr auto columns_of(const AllocationInterval* /*row*/) {
  using Row = AllocationInterval;
  return std::tuple(column("task", &Row::task), column("first_rank", &Row::first_rank), column("ranks", &Row::ranks),
                    column("start_s", &Row::start_s), column("end_s", &Row::end_s),
                    column("predicted_step_s", &Row::predicted_step_s, Since::later),
                    column("measured_step_s", &Row::measured_step_s, Since::later),
                    column("rank_list", &Row::rank_list, Since::later),
                    column("placement", &Row::placement, Since::later));
}

constexpr auto columns_of(const AllocationChange* /*row*/) {
  using Row = AllocationChange;
  return std::tuple(column("time_s", &Row::time_s), column("task", &Row::task), column("from", &Row::from),
                    column("to", &Row::to), column("predicted_gain", &Row::predicted_gain),
                    column("cost_s", &Row::cost_s), column("reason", &Row::reason),
                    column("placement", &Row::placement, Since::later));
}

constexpr auto columns_of(const AllocationPlacement* /*row*/) {
  using Row = AllocationPlacement;
  return std::tuple(column("time_s", &Row::time_s), column("task", &Row::task), column("placement", &Row::placement),
                    column("predicted_step_s", &Row::predicted_step_s), column("is_chosen", &Row::is_chosen));
}

constexpr auto columns_of(const RejectedChange* /*row*/) {
  using Row = RejectedChange;
  return std::tuple(column("time_s", &Row::time_s), column("predicted_gain", &Row::predicted_gain),
                    column("cost_s", &Row::cost_s), column("reason", &Row::reason));
}

constexpr auto columns_of(const AllocationBaseline* /*row*/) {
  using Row = AllocationBaseline;
  return std::tuple(column("policy", &Row::policy), column("predicted_s", &Row::predicted_s),
                    column("low_s", &Row::low_s), column("high_s", &Row::high_s), column("reason", &Row::reason));
}
/// @}

struct AllocationRecord {
  std::vector<AllocationInterval> intervals;  ///< by start; empty for files that are not of a share
  std::vector<AllocationChange> changes;
  std::vector<AllocationPlacement> placements;
  std::vector<AllocationBaseline> baselines;
};

}  // namespace multicard
