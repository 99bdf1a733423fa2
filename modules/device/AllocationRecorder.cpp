#include "device/AllocationRecorder.hpp"

#include <mutex>
#include <utility>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include "device/Memory.hpp"

namespace multicard {

namespace {

/// LibTorch's allocators report to the profiler state of the thread; the autograd engine hands it to its threads.
class Reports final : public c10::MemoryReportingInfoBase {
 public:
  explicit Reports(at::Device device) : device_(device), requested_(requested_device_bytes(device)) {}

  // Called by the thread that works and, in backward, by those of autograd: hence the lock. Releases are negative.
  void reportMemoryUsage(void* address, std::int64_t bytes, std::size_t, std::size_t, c10::Device device) override {
    if (device.type() != device_.type()) return;
    const std::lock_guard lock(mutex_);
    const std::int64_t requested = device.is_cuda() ? requested_since() : bytes;
    if (bytes > 0)
      trace_.allocate(address, requested, stage_);
    else
      trace_.release(address);
  }
  bool memoryProfilingEnabled() const override { return true; }

  AllocationTrace trace() const {
    const std::lock_guard lock(mutex_);
    return trace_;
  }
  WorkStage exchange_stage(WorkStage stage) {
    const std::lock_guard lock(mutex_);
    return std::exchange(stage_, stage);
  }

 private:
  /// A GPU's allocator reports the sizes of its blocks, up to 1 MiB larger than what was asked for: the difference of
  /// two small blocks says nothing of a large one. It has counted the request when it reports.
  std::int64_t requested_since() {
    const std::int64_t before = requested_;
    requested_ = requested_device_bytes(device_);
    return requested_ - before;
  }

  at::Device device_;
  mutable std::mutex mutex_;
  std::int64_t requested_;
  WorkStage stage_ = WorkStage::forward;
  AllocationTrace trace_;
};

/// The recorder of this thread, or null.
Reports* active_reports() {
  return dynamic_cast<Reports*>(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE));
}

}  // namespace

struct AllocationRecorder::State {
  explicit State(at::Device device)
      : reports(std::make_shared<Reports>(device)), guard(c10::DebugInfoKind::PROFILER_STATE, reports) {}

  std::shared_ptr<Reports> reports;
  c10::DebugInfoGuard guard;
};

AllocationRecorder::AllocationRecorder(at::Device device) : state_(std::make_unique<State>(device)) {}
AllocationRecorder::~AllocationRecorder() = default;

AllocationTrace AllocationRecorder::trace() const {
  return state_->reports->trace();
}

StageOfWork::StageOfWork(WorkStage stage) {
  if (Reports* reports = active_reports()) before_ = reports->exchange_stage(stage);
}

StageOfWork::~StageOfWork() {
  if (Reports* reports = active_reports()) reports->exchange_stage(before_);
}

MeasuredPair measured_pair(at::Device device, const SizedWork& work, MeasuredSizes measured, std::int64_t chunk_bytes) {
  // What libraries keep for good (handles, workspaces, loaded kernels) comes with the first call, and would count as
  // the smaller work's.
  if (device.is_cuda()) work(measured.small)();
  const auto measure = [&](std::int64_t number) -> MeasuredWork {
    const std::function<void()> prepared = work(number);
    const AllocationRecorder recorder(device);
    prepared();
    return {number, recorder.trace()};
  };
  const MeasuredWork small = measure(measured.small);
  return {small, measure(measured.large), chunk_bytes};
}

}  // namespace multicard
