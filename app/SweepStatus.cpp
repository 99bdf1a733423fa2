#include "SweepStatus.hpp"

namespace multicard {

WatchedSweep watched_sweep(const std::vector<Variant>& variants, const SweepFolder& folder, const SweepPace& pace,
                           const Variant* running, const RunLabel& label) {
  WatchedSweep sweep;
  sweep.total = static_cast<std::int64_t>(variants.size());
  sweep.left_s = 0;
  for (const Variant& variant : variants) {
    if (&variant == running || folder.is_open(variant)) {
      sweep.left_s += pace.expected(variant);
      continue;
    }
    ++sweep.done;
    if (!folder.is_finished(variant)) ++sweep.failed;
  }
  if (running) sweep.variant = label.whole;
  if (running) sweep.output = folder.variant_output(*running);
  return sweep;
}

}  // namespace multicard
