#include "data/loading/LoadingTimes.hpp"

#include <chrono>

#include "profiler/WorkScope.hpp"

namespace multicard {

void LoadingTimes::add(LoadingStage stage, TimePoint start, std::int64_t bytes) {
  Counters& counters = stages_[static_cast<std::size_t>(stage)];
  const std::int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - start).count();
  counters.count.fetch_add(1, std::memory_order_relaxed);
  counters.bytes.fetch_add(bytes, std::memory_order_relaxed);
  counters.ns.fetch_add(ns, std::memory_order_relaxed);
  report_work(WorkKind::input, kLoadingStages[static_cast<std::size_t>(stage)], ns, bytes);
}

}  // namespace multicard
