#pragma once
/// \file Device memory counters.

#include <cstdint>

#include <c10/core/Device.h>

namespace multicard {

/// Bytes on one device since the start or the last reset; all 0 on the CPU.
struct DeviceMemory {
  std::int64_t peak_allocated = 0;  ///< by tensors
  std::int64_t peak_reserved = 0;   ///< taken from the driver, including what is kept for reuse
  std::int64_t allocated = 0;       ///< now
};

DeviceMemory device_memory(at::Device device);
void reset_peak_device_memory(at::Device device);

}  // namespace multicard
