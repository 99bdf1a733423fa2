// libcuda.so.1: what LibTorch's allocator asks of it, with expandable segments (slurm/env/h100.sh), and little else.
#include <cstdio>
#include <map>
#include <mutex>

#include <cuda.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include "Fake.hpp"

namespace {

/// Physical memory; it ends when it is released and mapped nowhere.
struct Allocation {
  std::size_t bytes;
  int device;
  int references;
};

std::mutex mutex;
std::map<CUmemGenericAllocationHandle, Allocation> allocations;
std::map<CUdeviceptr, CUmemGenericAllocationHandle> mapped;
CUmemGenericAllocationHandle next_handle = 1;

void release(CUmemGenericAllocationHandle handle) {
  const auto found = allocations.find(handle);
  if (found == allocations.end() || --found->second.references > 0) return;
  fake::give_memory(found->second.bytes, found->second.device);
  allocations.erase(found);
}

void* pointer(CUdeviceptr at) {
  return reinterpret_cast<void*>(at);
}

constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

FAKE_API CUresult cuInit(unsigned) {
  return fake::driver_version() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

FAKE_API CUresult cuDriverGetVersion(int* version) {
  *version = fake::driver_version();
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "an error of the fake driver";
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = fake::device_attribute(attribute);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* is_active) {
  *flags = 0;
  *is_active = 1;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuCtxGetCurrent(CUcontext* context) {
  static char any;
  *context = reinterpret_cast<CUcontext>(&any);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                                CUmemAllocationGranularity_flags) {
  *bytes = std::size_t{2} << 20;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemAddressReserve(CUdeviceptr* at, std::size_t bytes, std::size_t, CUdeviceptr,
                                      unsigned long long) {
  FAKE_COUNT();
  void* const memory = mmap(nullptr, bytes, PROT_NONE, kReserved, -1, 0);
  if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *at = reinterpret_cast<CUdeviceptr>(memory);
  fake::add_range(memory, bytes, fake::current_device(), fake::Place::device);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemAddressFree(CUdeviceptr at, std::size_t bytes) {
  FAKE_COUNT();
  fake::remove_range(pointer(at));
  munmap(pointer(at), bytes);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                              const CUmemAllocationProp* properties, unsigned long long) {
  FAKE_COUNT();
  fake::note_site(__func__);
  const int device = properties->location.id;
  if (!fake::take_memory(bytes, device)) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex);
  *handle = next_handle++;
  allocations[*handle] = {bytes, device, 1};
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex);
  release(handle);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemMap(CUdeviceptr at, std::size_t, std::size_t, CUmemGenericAllocationHandle handle,
                           unsigned long long) {
  const std::lock_guard lock(mutex);
  mapped[at] = handle;
  ++allocations[handle].references;
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemSetAccess(CUdeviceptr at, std::size_t bytes, const CUmemAccessDesc*, std::size_t) {
  mprotect(pointer(at), bytes, PROT_READ | PROT_WRITE);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuMemUnmap(CUdeviceptr at, std::size_t bytes) {
  FAKE_COUNT();
  mmap(pointer(at), bytes, PROT_NONE, kReserved | MAP_FIXED, -1, 0);
  const std::lock_guard lock(mutex);
  for (auto it = mapped.lower_bound(at); it != mapped.end() && it->first < at + bytes; it = mapped.erase(it))
    release(it->second);
  return CUDA_SUCCESS;
}

FAKE_API CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t,
                                      CUdriverProcAddressQueryResult* status) {
  *function = dlsym(RTLD_DEFAULT, symbol);
  if (!*function) *function = dlsym(RTLD_DEFAULT, (std::string(symbol) + "_v2").c_str());
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
