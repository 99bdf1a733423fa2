#include "device/AllocationProbe.hpp"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace multicard {

namespace {

/// LibTorch's allocators report to the profiler state of the thread.
class Counter final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override { live += bytes; }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t live = 0;
};

}  // namespace

struct AllocationProbe::State {
  std::shared_ptr<Counter> counter = std::make_shared<Counter>();
  c10::DebugInfoGuard guard{c10::DebugInfoKind::PROFILER_STATE, counter};
};

AllocationProbe::AllocationProbe() : state_(std::make_unique<State>()) {}
AllocationProbe::~AllocationProbe() = default;

std::int64_t AllocationProbe::live_bytes() const {
  return state_->counter->live;
}

}  // namespace multicard
