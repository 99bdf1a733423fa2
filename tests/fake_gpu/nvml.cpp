// libnvidia-ml.so.1: what LibTorch's allocator asks before it makes a segment that can grow, and sensors. No GPU is on
// a fabric. A slice of a GPU (FAKE_GPU_IS_SLICE) does not know how busy it is.
#include <chrono>

#include "Fake.hpp"

namespace {

constexpr int kSuccess = 0, kNotSupported = 3;
constexpr unsigned kWatts = 350;

}  // namespace

FAKE_API int nvmlInit_v2() {
  return kSuccess;
}

FAKE_API int nvmlShutdown() {
  return kSuccess;
}

FAKE_API int nvmlDeviceGetUtilizationRates(void*, unsigned* percents) {
  if (fake::environment("FAKE_GPU_IS_SLICE", 0) != 0) return kNotSupported;
  percents[0] = 75;  // of the time a kernel ran
  percents[1] = 40;  // and memory was read or written
  return kSuccess;
}

FAKE_API int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = kWatts * 1000;
  return kSuccess;
}

FAKE_API int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  using Milliseconds = std::chrono::milliseconds;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  *millijoules = kWatts * static_cast<unsigned long long>(std::chrono::duration_cast<Milliseconds>(now).count());
  return kSuccess;
}

FAKE_API int nvmlDeviceGetClockInfo(void*, unsigned type, unsigned* mhz) {
  *mhz = type == 1 ? 1755 : 2619;  // of multiprocessors, of memory
  return kSuccess;
}

FAKE_API int nvmlDeviceGetTemperature(void*, unsigned, unsigned* celsius) {
  *celsius = 61;
  return kSuccess;
}

FAKE_API int nvmlDeviceGetMemoryInfo(void*, unsigned long long* total_free_used) {
  total_free_used[0] = 81079ULL << 20;
  total_free_used[1] = 80079ULL << 20;
  total_free_used[2] = 1000ULL << 20;
  return kSuccess;
}

FAKE_API int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = 4;  // the power cap
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
