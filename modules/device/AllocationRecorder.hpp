#pragma once
/// \file How much memory a piece of work takes.

#include <cstdint>
#include <functional>
#include <memory>

#include <c10/core/Device.h>

#include "device/AllocationTrace.hpp"

namespace multicard {

/// While one exists, records what tensors take on a device, in this thread and in the backward that it starts.
class AllocationRecorder {
 public:
  explicit AllocationRecorder(at::Device device);
  ~AllocationRecorder();
  AllocationRecorder(const AllocationRecorder&) = delete;
  AllocationRecorder& operator=(const AllocationRecorder&) = delete;

  AllocationTrace trace() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What the work of this thread is at, for a recorder: for its lifetime, then again what it was at before.
class StageOfWork {
 public:
  explicit StageOfWork(WorkStage stage);
  ~StageOfWork();
  StageOfWork(const StageOfWork&) = delete;
  StageOfWork& operator=(const StageOfWork&) = delete;

 private:
  WorkStage before_ = WorkStage::forward;
};

/// Makes the inputs of work on `size` rows or tokens, which are not counted, and returns the work, which is.
using SizedWork = std::function<std::function<void()>(std::int64_t size)>;

/// The sizes that work is measured on, small < large.
struct MeasuredSizes {
  std::int64_t small, large;
};

/// What the work takes beyond what it found. On a GPU the work is done once before it is
/// measured: what libraries allocate at their first call and keep is not counted.
/// \param chunk_bytes as MeasuredPair \throws whatever the work throws, c10::OutOfMemoryError among it
MeasuredPair measured_pair(at::Device device, const SizedWork& work, MeasuredSizes measured,
                           std::int64_t chunk_bytes = std::numeric_limits<std::int64_t>::max());

}  // namespace multicard
