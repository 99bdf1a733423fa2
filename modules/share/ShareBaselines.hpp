#pragma once
/// \file How long other policies would have taken for what a share has done.

#include <functional>
#include <string>
#include <vector>

#include "scheduling/model/StepPoint.hpp"
#include "scheduling/rates/Machine.hpp"
#include "share/ShareRecord.hpp"

namespace multicard {

/// A task that is complete.
struct BaselineTask {
  std::string name;
  int least_ranks = 1, max_ranks = 1;     ///< that it can use
  int equal_ranks = 1;                    ///< that the policy equal gives it
  std::function<StepPoint(int)> step_on;  ///< its step on that many ranks, on as few nodes as possible
  std::function<StepPoint(const NodeCounts&)> step_at = {};  ///< on ranks that are so spread over nodes
};

/// For the policies sequential and equal on `num_ranks` ranks: the steps that the tasks of `record` have completed,
/// each at the time measured on as many ranks, or predicted by a model of the measured ones. Tasks start in their
/// order, and not before they arrived. \pre all tasks have an entry in record.progress
std::vector<AllocationBaseline> predict_baselines(const ShareRecord& record, const std::vector<BaselineTask>& tasks,
                                                  int num_ranks);

}  // namespace multicard
