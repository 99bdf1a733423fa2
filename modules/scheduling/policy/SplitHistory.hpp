#pragma once
/// \file How often a share has repeated a change of its split.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/policy/TaskView.hpp"

namespace multicard {

/// The changes of the split among the same tasks, for rank 0.
///
/// Step times of different splits are measured at different moments. Where something else uses the machine, none of
/// them may hold for long, and each measurement seems to speak for the split that was left last. The gain that a change
/// needs therefore grows each time a change is made that has been made before, so that a share settles. Going to a
/// split and back once, as an exploration does, repeats nothing. Tasks that arrive or end make it a new problem.
class SplitHistory {
 public:
  /// What tasks that have not ended have now; called before each decision.
  void note(const std::vector<TaskView>& tasks);
  /// `min_gain` until a change is repeated; from then on twice as much with every repetition, starting at 2.5 % at
  /// least, and at most half (or `min_gain`, where that is more).
  double required_gain(double min_gain) const;

 private:
  std::vector<std::string> names_;
  using Places = std::vector<RanksOnNodes>;

  Places last_;
  std::set<std::pair<Places, Places>> changes_;  ///< from, to
  int num_repeats_ = 0;
};

}  // namespace multicard
