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

/// Makes the inputs of work on `size` rows or tokens, which are not counted, and returns the work, which is.
using SizedWork = std::function<std::function<void()>(std::int64_t size)>;

/// The sizes that work is measured on, small < large.
struct MeasuredSizes {
  std::int64_t small, large;
};

/// What the work takes beyond what it found. On a GPU the work is done once before it is
/// measured: what libraries allocate at their first call and keep is not counted.
/// \throws whatever the work throws, c10::OutOfMemoryError among it
MeasuredPair measured_pair(at::Device device, const SizedWork& work, MeasuredSizes measured);
/// The most bytes that work on `size` holds at a time.
std::int64_t predicted_peak(at::Device device, const SizedWork& work, MeasuredSizes measured, std::int64_t size);

}  // namespace multicard
