#include <c10/cuda/CUDACachingAllocator.h>

#include "device/Memory.hpp"

namespace multicard {

namespace {

// The allocator's counters exist once it has served the device.
bool counted(at::Device device) {
  return device.is_cuda() && c10::cuda::CUDACachingAllocator::get()->initialized();
}

}  // namespace

DeviceMemory device_memory(at::Device device) {
  if (!counted(device)) return {};
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  return {stats.allocated_bytes[all].peak, stats.reserved_bytes[all].peak, stats.allocated_bytes[all].current};
}

void reset_peak_device_memory(at::Device device) {
  if (counted(device)) c10::cuda::CUDACachingAllocator::resetPeakStats(device.index());
}

}  // namespace multicard
