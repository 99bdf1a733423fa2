#pragma once
/// \file How much host memory tensors take.

#include <cstdint>

namespace multicard {

/// Bytes of tensors in host memory, since counting began; all 0 before. The peak, and the mean over time, are those
/// since the last reset.
struct HostTensorMemory {
  std::int64_t allocated = 0, peak = 0, mean = 0;
};

/// Counts from now on what LibTorch allocates on the CPU, whichever thread asks. Call once, before other threads run.
void count_host_tensors();

HostTensorMemory host_tensor_memory();
/// Of the peak and of the mean.
void reset_peak_host_tensors();

/// Adds what tensors hold that LibTorch did not allocate (memory shared by ranks); negative where it is given back.
/// Nothing happens before counting has begun.
void add_host_tensor_bytes(std::int64_t bytes);

}  // namespace multicard
