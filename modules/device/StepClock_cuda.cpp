#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include "device/StepClock.hpp"

namespace multicard {

namespace {

/// Events come from a pool: making one costs far more than recording it.
class EventMarks : public TimeMarks {
 public:
  explicit EventMarks(at::Device device) : device_(device) {}
  ~EventMarks() override {
    for (const cudaEvent_t event : free_)
      cudaEventDestroy(event);
    for (const auto& [mark, event] : set_)
      cudaEventDestroy(event);
  }
  EventMarks(const EventMarks&) = delete;
  EventMarks& operator=(const EventMarks&) = delete;

  Mark set() override {
    const cudaEvent_t event = take();
    C10_CUDA_CHECK(cudaEventRecord(event, c10::cuda::getCurrentCUDAStream(device_.index()).stream()));
    set_.emplace(next_, event);
    return next_++;
  }

  bool reached(Mark mark) override {
    const cudaError_t state = cudaEventQuery(set_.at(mark));
    // Not an error, but kept like one, and the next check after a kernel launch would throw it.
    if (state == cudaErrorNotReady) {
      static_cast<void>(cudaGetLastError());
      return false;
    }
    C10_CUDA_CHECK(state);
    return true;
  }

  void wait_for(Mark mark) override { C10_CUDA_CHECK(cudaEventSynchronize(set_.at(mark))); }

  double seconds(Mark from, Mark until) override {
    // CUDA measures in float milliseconds, with a resolution of about half a microsecond.
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, set_.at(from), set_.at(until)));
    return milliseconds * 1e-3;
  }

  void release(Mark mark) override {
    const auto found = set_.find(mark);
    free_.push_back(found->second);
    set_.erase(found);
  }

 private:
  cudaEvent_t take() {
    if (free_.empty()) {
      const c10::cuda::CUDAGuard guard(device_);
      cudaEvent_t event = nullptr;
      C10_CUDA_CHECK(cudaEventCreate(&event));
      return event;
    }
    const cudaEvent_t event = free_.back();
    free_.pop_back();
    return event;
  }

  at::Device device_;
  Mark next_ = 0;
  std::unordered_map<Mark, cudaEvent_t> set_;
  std::vector<cudaEvent_t> free_;
};

class PhaseRanges : public StepObserver {
 public:
  explicit PhaseRanges(std::function<std::int64_t()> first_step) : first_step_(std::move(first_step)) {}
  ~PhaseRanges() override { close(); }

  // NVTX ranges are a stack of the thread: a phase must be popped before the next is pushed, or it would hold that.
  void enter(Phase phase) override {
    if (depth_ == 0) {
      // The moment between two steps, in which an evaluation or a checkpoint may come, opens none: a tool that records
      // the range of a step would record that moment instead.
      if (phase == Phase::other) return;
      if (!step_) step_ = first_step_();
      push(("step " + std::to_string(*step_)).c_str());
    }
    close(1);
    push(kPhaseNames[static_cast<std::size_t>(phase)]);
  }
  void end_step() override {
    close();
    if (step_) ++*step_;
  }
  void pause() override { close(); }

 private:
  void push(const char* name) {
    nvtxRangePushA(name);
    ++depth_;
  }
  void close(int depth = 0) {
    for (; depth_ > depth; --depth_)
      nvtxRangePop();
  }

  std::function<std::int64_t()> first_step_;
  std::optional<std::int64_t> step_;
  int depth_ = 0;  ///< 1: a step, 2: and its phase
};

}  // namespace

std::unique_ptr<StepObserver> make_phase_ranges(std::function<std::int64_t()> first_step) {
  return std::make_unique<PhaseRanges>(std::move(first_step));
}

std::unique_ptr<TimeMarks> make_device_marks(at::Device device) {
  return std::make_unique<EventMarks>(device);
}

}  // namespace multicard
