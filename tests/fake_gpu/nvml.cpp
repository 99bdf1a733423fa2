// libnvidia-ml.so.1: what LibTorch's allocator asks before it makes a segment that can grow. No GPU is on a fabric.
#include "Fake.hpp"

namespace {

constexpr int kSuccess = 0, kNotSupported = 3;

}  // namespace

FAKE_API int nvmlInit_v2() {
  return kSuccess;
}

FAKE_API int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  static char any;
  *device = &any;
  return kSuccess;
}

FAKE_API int nvmlDeviceGetGpuFabricInfoV(void*, void*) {
  return kNotSupported;
}

FAKE_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = fake::driver_version();
  return kSuccess;
}

FAKE_API int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, void*) {
  return kNotSupported;
}

FAKE_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) {
  return kNotSupported;
}

FAKE_API int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* number, void*) {
  *number = 0;
  return kSuccess;
}
