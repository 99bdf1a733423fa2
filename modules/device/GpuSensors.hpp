#pragma once
/// \file What a GPU's own sensors say, through NVIDIA's management library (NVML), which is opened at run time.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace multicard {

/// The sensors of one GPU. Not for several threads at once.
class GpuSensors {
 public:
  /// Null where NVML is missing or does not know the GPU: its readings are absent then.
  /// \param bus_id as in GpuInfo: indices of NVML and of CUDA differ
  static std::unique_ptr<GpuSensors> open(const std::string& bus_id);
  ~GpuSensors();
  GpuSensors(const GpuSensors&) = delete;
  GpuSensors& operator=(const GpuSensors&) = delete;

  struct Reading {
    /// As it is now, by the names of docs/results_file.md: `gpu_busy` and `gpu_memory_busy` (shares of the last sixth
    /// to whole second in which a kernel ran, or device memory was read or written), `gpu_power_w`, `gpu_sm_clock_mhz`,
    /// `gpu_memory_clock_mhz`, `gpu_temperature_c`, `gpu_used_bytes` (by all processes), `gpu_throttle_reasons` (bits
    /// of nvmlClocksEventReasons).
    std::map<std::string, double> now;
    /// Since the driver was loaded: `gpu_energy_j`.
    std::map<std::string, double> totals;
  };
  /// Without what this GPU does not support: a slice of one (MIG) has no utilization, for instance.
  Reading read() const;

 private:
  struct Library;
  GpuSensors(std::unique_ptr<Library> library, void* device);

  std::unique_ptr<Library> library_;
  void* device_;
};

}  // namespace multicard
