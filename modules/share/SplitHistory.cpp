#include "share/SplitHistory.hpp"

#include <algorithm>
#include <cmath>

namespace multicard {

namespace {
constexpr double kLeastGain = 0.025;  ///< that is doubled
}  // namespace

void SplitHistory::note(const std::vector<TaskView>& tasks, const std::vector<int>& ranks) {
  std::vector<std::string> names;
  names.reserve(tasks.size());
  for (const TaskView& task : tasks)
    names.push_back(task.name);
  if (names != names_) *this = SplitHistory();
  names_ = std::move(names);
  if (ranks == last_) return;
  last_ = ranks;
  if (!seen_.insert(ranks).second) ++num_returns_;
}

double SplitHistory::required_gain(double min_gain) const {
  if (num_returns_ < 2) return min_gain;
  return std::ldexp(std::max(min_gain, kLeastGain), num_returns_ - 1);
}

}  // namespace multicard
