#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include "device/Memory.hpp"

namespace multicard {

namespace {

constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

// The allocator's counters exist once it has served the device.
bool counted(at::Device device) {
  return device.is_cuda() && c10::cuda::CUDACachingAllocator::get()->initialized();
}

}  // namespace

at::Device device_in_use() {
  // The first tensor on a GPU initialises the allocator: a process that merely sees GPUs does not use one.
  const bool is_used = c10::cuda::CUDACachingAllocator::get()->initialized();
  return is_used ? at::Device(at::kCUDA, c10::cuda::current_device()) : at::kCPU;
}

DeviceMemory device_memory(at::Device device) {
  if (!counted(device)) return {};
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
  return {stats.allocated_bytes[kAll].peak, stats.reserved_bytes[kAll].peak, stats.allocated_bytes[kAll].current,
          stats.reserved_bytes[kAll].current};
}

void reset_peak_device_memory(at::Device device) {
  if (counted(device)) c10::cuda::CUDACachingAllocator::resetPeakStats(device.index());
}

std::int64_t requested_device_bytes(at::Device device) {
  if (!counted(device)) return 0;
  // requested_bytes, not allocated_bytes: blocks are rounded up, by other amounts at other sizes.
  return c10::cuda::CUDACachingAllocator::getDeviceStats(device.index()).requested_bytes[kAll].current;
}

std::int64_t free_device_bytes(at::Device device) {
  if (!device.is_cuda()) return 0;
  // The driver answers for the current device of the thread.
  const c10::cuda::CUDAGuard on(device);
  std::size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return static_cast<std::int64_t>(free);
}

void release_cached_device_memory(at::Device device) {
  if (counted(device)) c10::cuda::CUDACachingAllocator::emptyCache();
}

}  // namespace multicard
