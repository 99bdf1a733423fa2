#pragma once
/// \file Device memory counters.

#include <cstdint>

#include <c10/core/Device.h>

namespace multicard {

/// Bytes on one device; all 0 on the CPU. Peaks are those since the start or the last reset.
struct DeviceMemory {
  std::int64_t peak_allocated = 0;  ///< by tensors
  std::int64_t peak_reserved = 0;   ///< taken from the driver, including what is kept for reuse
  std::int64_t allocated = 0;       ///< now
  std::int64_t reserved = 0;        ///< now
};

/// The GPU that this thread has computed on, else the CPU.
at::Device device_in_use();
DeviceMemory device_memory(at::Device device);
void reset_peak_device_memory(at::Device device);

/// Bytes that tensors have asked for and hold now, before the allocator rounds them up; 0 on the CPU.
std::int64_t requested_device_bytes(at::Device device);
/// Bytes that the driver would still give to any process; 0 on the CPU. \throws c10::Error of a device that fails
std::int64_t free_device_bytes(at::Device device);
/// Gives memory that no tensor uses back to the driver, for communicators and other processes.
void release_cached_device_memory(at::Device device);

}  // namespace multicard
