#include "postproc/study/ShareAnswer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"

namespace multicard::post {

namespace {

/// What one task after another would have taken; null where the file does not say it.
const AllocationBaseline* sequential(const AllocationRecord& allocation) {
  const auto& all = allocation.baselines;
  const auto found =
      std::ranges::find_if(all, [](const AllocationBaseline& one) { return one.policy == "sequential"; });
  return found == all.end() || !(found->predicted_s > 0) ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> tasks_of(const AllocationRecord& allocation) {
  std::vector<std::string> tasks;
  for (const AllocationInterval& interval : allocation.intervals)
    if (std::ranges::find(tasks, interval.task) == tasks.end()) tasks.push_back(interval.task);
  return tasks;
}

double end_of(const std::vector<AllocationInterval>& intervals) {
  double end_s = 0;
  for (const AllocationInterval& interval : intervals)
    end_s = std::max(end_s, interval.end_s);
  return end_s;
}

Finding share_finding(const AllocationRecord& allocation) {
  if (allocation.intervals.empty()) return {};
  const std::vector<std::string> tasks = tasks_of(allocation);
  const double seconds = end_of(allocation.intervals);
  Finding out{{}, {{"tasks", tasks.size()}, {"seconds", seconds}}, "share"};
  const std::string took =
      fmt::format("{} took {} s", counted(static_cast<long>(tasks.size()), "task"), significant(seconds, 3));
  const AllocationBaseline* const other = sequential(allocation);
  if (tasks.size() == 1 || !other) {
    out.text = tasks.size() == 1 ? took + "." : took + "; what one after another would have taken is not known.";
    return out;
  }
  const Estimate predicted{other->predicted_s, Interval{other->low_s, other->high_s}, Basis::none, 0};
  out.evidence.add({"predicted", predicted});
  const std::string prediction = fmt::format("predicted from step times, without start-up: {} s, {}",
                                             alike(predicted.value, predicted.value, 3), range_text(predicted, 3));
  // The prediction must beat the measurement with its whole interval.
  if (other->low_s <= seconds) {
    out.text = fmt::format("{}; a gain over one after another is not proven ({}).", took, prediction);
    return out;
  }
  const double ratio = other->predicted_s / seconds;
  out.evidence.add({"ratio", ratio});
  out.text = fmt::format("Sharing paid: {}, one after another would have taken {} times as long ({}).", took,
                         alike(ratio, ratio, 3), prediction);
  return out;
}

}  // namespace multicard::post
