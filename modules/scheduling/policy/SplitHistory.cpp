#include "scheduling/policy/SplitHistory.hpp"

#include <algorithm>
#include <cmath>

namespace multicard {

namespace {
constexpr double kLeastGain = 0.025;  ///< that is doubled
constexpr double kMostGain = 0.5;
}  // namespace

// The same change a second time shows that decisions alternate: each prediction is corrected when its split runs. Every
// repeat doubles the gain that the next change needs, until the tasks are others.
void SplitHistory::note(const std::vector<TaskView>& tasks) {
  std::vector<std::string> names;
  names.reserve(tasks.size());
  for (const TaskView& task : tasks)
    names.push_back(task.name);
  std::vector<RanksOnNodes> ranks;
  ranks.reserve(tasks.size());
  for (const TaskView& task : tasks)
    ranks.emplace_back(task.ranks(), task.nodes());
  if (names != names_) {
    *this = SplitHistory();
    names_ = std::move(names);
    last_ = ranks;
  }
  if (ranks == last_) return;
  if (!changes_.emplace(last_, ranks).second) ++num_repeats_;
  last_ = ranks;
}

double SplitHistory::required_gain(double min_gain) const {
  if (num_repeats_ == 0) return min_gain;
  const double most = std::max(min_gain, kMostGain);
  return std::min(most, std::ldexp(std::max(min_gain, kLeastGain), num_repeats_));
}

}  // namespace multicard
