#pragma once
/// \file How often a share has returned to a split that it had left.

#include <set>
#include <string>
#include <vector>

#include "share/TaskView.hpp"

namespace multicard {

/// The splits that the same tasks have had, for rank 0.
///
/// Step times of different splits are measured at different moments. Where something else uses the machine, none of
/// them may hold for long, and each measurement seems to speak for the split that was left last. The gain that a change
/// needs therefore grows with every return to an earlier split, so that a share settles after a few. Tasks that arrive
/// or end make it a new problem.
class SplitHistory {
 public:
  /// The tasks that have not ended get `ranks`.
  void note(const std::vector<TaskView>& tasks, const std::vector<int>& ranks);
  /// `min_gain` up to the first return, which an exploration may need; from then on twice as much with every further
  /// one, and not from 0.
  double required_gain(double min_gain) const;

 private:
  std::vector<std::string> names_;
  std::set<std::vector<int>> seen_;
  std::vector<int> last_;
  int num_returns_ = 0;
};

}  // namespace multicard
