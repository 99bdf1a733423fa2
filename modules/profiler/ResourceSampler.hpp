#pragma once
/// \file What a process uses of its machine and its GPU while a run trains, once a second.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/Clock.hpp"
#include "base/PackageEnergy.hpp"
#include "base/ProcessUse.hpp"
#include "device/GpuSensors.hpp"

namespace multicard {

/// Samples on a thread of its own, which takes some 20 us of a core a second, and what NVML takes for a GPU. Training
/// waits for it in sample_and_copy() alone, while a sample is read. All runs of a process share what it uses: each has
/// it in its record.
///
/// Columns by name (docs/results_file.md): `time_s` (Unix time of the sample) and `interval_s` (since the sample
/// before); what was used in the interval (`cpu_s`, `minor_faults`, `gpu_energy_j`, …); and what is at its end
/// (`resident_bytes`, `gpu_power_w`, …). What cannot be read has no column; NaN where it could not be read at times.
class ResourceSampler {
 public:
  using Columns = std::map<std::string, std::vector<double>>;

  /// Where to read, besides the process.
  struct Sources {
    std::string gpu_bus_id;  ///< empty without a GPU
    int num_sharing = 1;     ///< ranks that use the GPU: each records its share of the energy
    bool has_node = false;   ///< of the ranks on a node one records the energy of its processors
  };
  /// \throws EnvironmentError where no thread can be started
  explicit ResourceSampler(const Sources& sources);
  ~ResourceSampler();
  ResourceSampler(const ResourceSampler&) = delete;
  ResourceSampler& operator=(const ResourceSampler&) = delete;

  /// Takes a sample now, before the second is over, and returns all so far.
  Columns sample_and_copy();
  /// The newest `most` samples of those taken so far.
  Columns newest(std::size_t most);

 private:
  using Reading = GpuSensors::Reading;

  Reading read();
  void sample();  ///< with the mutex held
  void run();

  std::unique_ptr<GpuSensors> gpu_;
  int num_sharing_;
  std::unique_ptr<PackageEnergy> node_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_ending_ = false;
  TimePoint time_;                        ///< of the sample before
  std::map<std::string, double> totals_;  ///< at the sample before
  Columns columns_;
  std::thread thread_;
};

}  // namespace multicard
