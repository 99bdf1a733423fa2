#pragma once
/// \file How fast a task runs on how many GPUs, as measured.

#include <optional>
#include <string>
#include <vector>

#include "base/Estimate.hpp"
#include "scheduling/rates/Machine.hpp"

namespace multicard {

/// How something was measured, where a table says so.
struct RateSource {
  std::string placement;  ///< GPUs of each node, most first: "2+1"
  std::string variant;    ///< "plan 248", "local batch 32"
  int most_per_node = 0;  ///< GPUs on the fullest node, where the rate holds for such nodes alone; 0: anywhere

  bool is_known() const { return !placement.empty() || !variant.empty(); }
};

/// One measurement.
struct RateRow {
  int gpus = 0;
  int nodes = 0;         ///< that the GPUs were spread over; 0: the rate holds for any placement
  double rate = 0;       ///< units of work per second; 0: does not run
  double memory_gb = 0;  ///< of the fullest GPU; 0: not known
  std::optional<Interval> interval = std::nullopt;  ///< of the rate, above 0
  RateSource source = {};
};

/// A way to run a task: a row that a machine allows.
struct Choice {
  int gpus = 0;
  int nodes = 0;  ///< exactly that many; 0: any
  double rate = 0;

  bool operator==(const Choice&) const = default;
};

/// The measurements of one task. Several rows may have the same numbers of GPUs and nodes, for example measured with
/// different strategies: the fastest usable one counts.
class RateTable {
 public:
  RateTable() = default;
  explicit RateTable(std::vector<RateRow> rows);

  /// By GPUs, then nodes.
  const std::vector<RateRow>& rows() const { return rows_; }

  /// What can be used on `machine`, by GPUs, then nodes: rows with a rate above 0, that fit into the memory of its
  /// GPUs, and whose placement exists there (nodes ≤ gpus ≤ nodes × GPUs of a node, and no node with more of them
  /// than a node has). One for each pair of GPUs and nodes: the fastest placement that was measured.
  std::vector<Choice> usable(const Machine& machine) const;

  /// The fastest usable choice, of equal ones that with the fewest GPUs; one with gpus 0 and rate 0 where there is
  /// none.
  Choice best(const Machine& machine) const;

  /// How the fastest usable row of these numbers was measured; nodes 0: on any.
  RateSource source(int gpus, int nodes, const Machine& machine) const;

  /// Of the row that a choice is made from.
  std::optional<Interval> interval(const Choice& choice) const;

 private:
  std::vector<RateRow> rows_;
};

}  // namespace multicard
