#include "profiler/MemoryLog.hpp"

#include <algorithm>

#include <c10/core/Allocator.h>
#include <c10/util/Logging.h>
#include <unistd.h>

namespace multicard {

namespace {

class Reports final : public c10::MemoryReportingInfoBase {
 public:
  explicit Reports(RangeLog& log) : log_(log) {}

  // Releases are negative.
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    if (bytes > 0) log_.add(LoggedMemory{gettid(), wall_clock_ns(), bytes});
  }
  bool memoryProfilingEnabled() const override { return true; }

 private:
  RangeLog& log_;
};

}  // namespace

MemoryLog::QuietAllocator::QuietAllocator() : level_(FLAGS_caffe2_log_level) {
  constexpr int kErrors = 2;
  FLAGS_caffe2_log_level = std::max(level_, kErrors);
}
MemoryLog::QuietAllocator::~QuietAllocator() {
  FLAGS_caffe2_log_level = level_;
}

MemoryLog::MemoryLog(RangeLog& log)
    : reports_(std::make_shared<Reports>(log)), guard_(c10::DebugInfoKind::PROFILER_STATE, reports_) {}

}  // namespace multicard
