// Memory is mapped and touched only by what writes to it: a network of 8 billion weights needs little here.
#include <array>
#include <cstring>
#include <map>
#include <shared_mutex>

#include <sys/mman.h>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

constexpr std::size_t kPage = 4096;
/// Longer values than zero are not written where not all of them are read.
constexpr std::size_t kMostFilled = 64 * kMiB;
constexpr int kMostDevices = 16;

std::shared_mutex ranges_mutex;
std::map<std::uintptr_t, Range> ranges;
std::array<std::atomic<std::int64_t>, kMostDevices> used{}, peaks{};

std::uintptr_t number_of(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at);
}

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

void* map_memory(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes, MADV_NOHUGEPAGE);
  return at;
}

}  // namespace

bool take_memory(std::size_t bytes, int device) {
  const auto index = static_cast<std::size_t>(device);
  const std::int64_t now = used[index].fetch_add(static_cast<std::int64_t>(bytes)) + static_cast<std::int64_t>(bytes);
  if (now > memory_to_give()) {
    give_memory(bytes, device);
    return false;
  }
  std::int64_t peak = peaks[index];
  while (now > peak && !peaks[index].compare_exchange_weak(peak, now)) {
  }
  return true;
}

void give_memory(std::size_t bytes, int device) {
  used[static_cast<std::size_t>(device)].fetch_sub(static_cast<std::int64_t>(bytes));
}

std::int64_t used_memory(int device) {
  return used[static_cast<std::size_t>(device)];
}

std::int64_t peak_memory(int device) {
  return peaks[static_cast<std::size_t>(device)];
}

void add_range(const void* begin, std::size_t bytes, int device, Place place) {
  const std::unique_lock lock(ranges_mutex);
  ranges[number_of(begin)] = {bytes, device, place};
}

std::size_t remove_range(const void* begin) {
  const std::unique_lock lock(ranges_mutex);
  const auto found = ranges.find(number_of(begin));
  if (found == ranges.end()) return 0;
  const std::size_t bytes = found->second.bytes;
  ranges.erase(found);
  return bytes;
}

std::optional<Range> range_of(const void* at) {
  const std::shared_lock lock(ranges_mutex);
  auto found = ranges.upper_bound(number_of(at));
  if (found == ranges.begin()) return std::nullopt;
  --found;
  if (number_of(at) >= found->first + found->second.bytes) return std::nullopt;
  return found->second;
}

void fill_bytes(void* begin, int value, std::size_t bytes) {
  if (bytes < kMiB || (value != 0 && bytes <= kMostFilled)) {
    std::memset(begin, value, bytes);
  } else if (value == 0) {
    auto* const at = static_cast<std::byte*>(begin);
    const std::size_t first = rounded(number_of(begin), kPage) - number_of(begin);
    const std::size_t last = (number_of(begin) + bytes) / kPage * kPage - number_of(begin);
    std::memset(at, 0, first);
    madvise(at + first, last - first, MADV_DONTNEED);
    std::memset(at + last, 0, bytes - last);
  }
}

}  // namespace fake

using fake::fail;
using fake::kMiB;
using fake::Place;

FAKE_API cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  FAKE_COUNT();
  fake::note_site(__func__);
  if (const int error = fake::device_error()) return fail(static_cast<cudaError_t>(error));
  *at = nullptr;
  if (bytes == 0) return cudaSuccess;
  bytes = fake::rounded(bytes, bytes >= kMiB ? 2 * kMiB : 512);
  const int device = fake::current_device();
  if (!fake::take_memory(bytes, device)) return fail(cudaErrorMemoryAllocation);
  *at = fake::map_memory(bytes);
  if (!*at) return fail(cudaErrorMemoryAllocation);
  fake::add_range(*at, bytes, device, Place::device);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaFree(void* at) {
  FAKE_COUNT();
  if (!at) return cudaSuccess;
  fake::note_site(__func__);
  fake::drain_all();
  const auto range = fake::range_of(at);
  const std::size_t bytes = fake::remove_range(at);
  if (!range || bytes == 0) return fail(cudaErrorInvalidValue);
  fake::give_memory(bytes, range->device);
  munmap(at, bytes);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  FAKE_COUNT();
  const std::int64_t memory = fake::settings().memory;
  *total = static_cast<std::size_t>(memory);
  *free = static_cast<std::size_t>(memory - fake::used_memory(fake::current_device()));
  return cudaSuccess;
}

FAKE_API cudaError_t cudaHostAlloc(void** at, std::size_t bytes, unsigned) {
  FAKE_COUNT();
  fake::note_site(__func__);
  bytes = fake::rounded(bytes, fake::kPage);
  *at = fake::map_memory(bytes);
  if (!*at) return fail(cudaErrorMemoryAllocation);
  fake::add_range(*at, bytes, fake::current_device(), Place::pinned);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaFreeHost(void* at) {
  FAKE_COUNT();
  if (!at) return cudaSuccess;
  fake::drain_all();
  const std::size_t bytes = fake::remove_range(at);
  if (bytes == 0) return fail(cudaErrorInvalidValue);
  munmap(at, bytes);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaHostRegister(void* at, std::size_t bytes, unsigned) {
  FAKE_COUNT();
  fake::note_site(__func__);
  fake::add_range(at, bytes, fake::current_device(), Place::pinned);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaHostUnregister(void* at) {
  FAKE_COUNT();
  fake::drain_all();
  return fake::remove_range(at) ? cudaSuccess : fail(cudaErrorHostMemoryNotRegistered);
}

FAKE_API cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
  FAKE_COUNT();
  const auto range = fake::range_of(at);
  *attributes = {};
  attributes->type = !range                          ? cudaMemoryTypeUnregistered
                     : range->place == Place::device ? cudaMemoryTypeDevice
                                                     : cudaMemoryTypeHost;
  attributes->device = range ? range->device : cudaInvalidDeviceId;
  if (!range) return cudaSuccess;
  attributes->devicePointer = const_cast<void*>(at);
  if (range->place != Place::device) attributes->hostPointer = const_cast<void*>(at);
  return cudaSuccess;
}
