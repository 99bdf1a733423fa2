// Every device is an H100 with 80 GB.
#include <cstdio>
#include <cstring>
#include <utility>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

thread_local int device_in_use = 0;
thread_local cudaError_t last_error = cudaSuccess;

cudaDeviceProp describe(int device) {
  cudaDeviceProp p{};
  std::snprintf(p.name, sizeof p.name, "NVIDIA H100 80GB HBM3");
  device_uuid(device, p.uuid.bytes);
  p.totalGlobalMem = static_cast<std::size_t>(settings().memory);
  p.sharedMemPerBlock = 49152;
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.memPitch = 2147483647;
  p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = 2147483647;
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = 65536;
  p.major = 9;
  p.textureAlignment = 512;
  p.texturePitchAlignment = 32;
  p.multiProcessorCount = 132;
  p.pciBusID = 0x10 + device;
  p.asyncEngineCount = 3;
  p.memoryBusWidth = 5120;
  p.l2CacheSize = 52428800;
  p.maxThreadsPerMultiProcessor = 2048;
  p.sharedMemPerMultiprocessor = 233472;
  p.sharedMemPerBlockOptin = 232448;
  p.maxBlocksPerMultiProcessor = 32;
  p.reservedSharedMemPerBlock = 1024;
  p.canMapHostMemory = p.concurrentKernels = p.ECCEnabled = p.unifiedAddressing = 1;
  p.streamPrioritiesSupported = p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.managedMemory = p.concurrentManagedAccess = p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = p.cooperativeLaunch = p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = p.clusterLaunch = p.unifiedFunctionPointers = 1;
  p.hostNumaId = -1;
  return p;
}

bool is_known(int device) {
  return device >= 0 && device < num_devices();
}

}  // namespace

int current_device() {
  return device_in_use;
}

cudaError_t fail(cudaError_t error) {
  last_error = error;
  return error;
}

void device_uuid(int device, char (&bytes)[16]) {
  for (int i = 0; i < 16; ++i)
    bytes[i] = static_cast<char>(0xfa + 16 * device + i);
}

int device_attribute(int attribute) {
  static const cudaDeviceProp p = describe(0);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimZ:
      return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX:
      return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return p.maxGridSize[1];
    case cudaDevAttrWarpSize:
      return p.warpSize;
    case cudaDevAttrMultiProcessorCount:
      return p.multiProcessorCount;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrMaxRegistersPerBlock:
      return p.regsPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return p.regsPerMultiprocessor;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return static_cast<int>(p.reservedSharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return static_cast<int>(p.totalConstMem);
    case cudaDevAttrL2CacheSize:
      return p.l2CacheSize;
    case cudaDevAttrComputeCapabilityMajor:
      return p.major;
    case cudaDevAttrComputeCapabilityMinor:
      return p.minor;
    case cudaDevAttrClockRate:
      return 1980000;
    case cudaDevAttrMemoryClockRate:
      return 2619000;
    case cudaDevAttrGlobalMemoryBusWidth:
      return p.memoryBusWidth;
    case cudaDevAttrAsyncEngineCount:
      return p.asyncEngineCount;
    case cudaDevAttrTextureAlignment:
      return static_cast<int>(p.textureAlignment);
    case 102:  // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, which the runtime does not name
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrClusterLaunch:
      return 1;
    default:
      return 0;
  }
}

}  // namespace fake

using fake::fail;

FAKE_API cudaError_t cudaGetDeviceCount(int* count) {
  FAKE_COUNT();
  *count = fake::num_devices();
  if (fake::driver_version() < CUDART_VERSION) return fail(cudaErrorInsufficientDriver);
  return *count > 0 ? cudaSuccess : fail(cudaErrorNoDevice);
}

FAKE_API cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  FAKE_COUNT();
  if (!fake::is_known(device)) return fail(cudaErrorInvalidDevice);
  *properties = fake::describe(device);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  FAKE_COUNT();
  if (!fake::is_known(device)) return fail(cudaErrorInvalidDevice);
  *value = fake::device_attribute(attribute);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaSetDevice(int device) {
  FAKE_COUNT();
  if (!fake::is_known(device)) return fail(cudaErrorInvalidDevice);
  fake::device_in_use = device;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaGetDevice(int* device) {
  FAKE_COUNT();
  *device = fake::device_in_use;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  FAKE_COUNT();
  if (!fake::is_known(device)) return fail(cudaErrorInvalidDevice);
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0", 0x10 + device);
  return cudaSuccess;
}

FAKE_API cudaError_t cudaDeviceCanAccessPeer(int* can, int from, int to) {
  FAKE_COUNT();
  *can = from != to;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  FAKE_COUNT();
  return cudaSuccess;
}

FAKE_API cudaError_t cudaDriverGetVersion(int* version) {
  *version = fake::driver_version();
  return cudaSuccess;
}

FAKE_API cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaGetLastError() {
  return std::exchange(fake::last_error, cudaSuccess);
}

FAKE_API cudaError_t cudaPeekAtLastError() {
  return fake::last_error;
}

FAKE_API const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorECCUncorrectable:
      return "uncorrectable ECC error encountered";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorNotReady:
      return "device not ready";
    default:
      return "an error of the fake CUDA runtime";
  }
}

FAKE_API const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorECCUncorrectable:
      return "cudaErrorECCUncorrectable";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    default:
      return "cudaErrorOfTheFake";
  }
}
