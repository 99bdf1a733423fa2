#include "profiler/MemoryLog.hpp"

#include <algorithm>
#include <atomic>

#include <c10/core/Allocator.h>
#include <c10/util/Logging.h>
#include <unistd.h>

namespace multicard {

class MemoryLog::Reports final : public c10::MemoryReportingInfoBase {
 public:
  Reports(RangeLog& log, c10::Device device) : log_(log), device_(device) {}

  // Releases are negative.
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t allocated, std::size_t, c10::Device device) override {
    if (bytes > 0) log_.add(LoggedMemory{gettid(), wall_clock_ns(), bytes});
    if (!device_.is_cuda() || device.type() != device_.type()) return;
    num_.fetch_add(1, std::memory_order_relaxed);
    bytes_.fetch_add(static_cast<double>(allocated), std::memory_order_relaxed);
  }
  bool memoryProfilingEnabled() const override { return true; }

  Looks looks() const { return {num_, bytes_}; }

 private:
  RangeLog& log_;
  c10::Device device_;
  std::atomic<std::int64_t> num_ = 0;
  std::atomic<double> bytes_ = 0;
};

MemoryLog::QuietAllocator::QuietAllocator() : level_(FLAGS_caffe2_log_level) {
  constexpr int kErrors = 2;
  FLAGS_caffe2_log_level = std::max(level_, kErrors);
}
MemoryLog::QuietAllocator::~QuietAllocator() {
  FLAGS_caffe2_log_level = level_;
}

MemoryLog::MemoryLog(RangeLog& log, c10::Device device)
    : reports_(std::make_shared<Reports>(log, device)), guard_(c10::DebugInfoKind::PROFILER_STATE, reports_) {}

MemoryLog::Looks MemoryLog::looks() const {
  return reports_->looks();
}

}  // namespace multicard
