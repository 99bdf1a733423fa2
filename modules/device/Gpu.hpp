#pragma once
/// \file The GPUs that this process sees. Without a driver, or in a build without CUDA, there are none: nothing here
/// fails or prints on a machine without GPUs.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/GpuProblem.hpp"

namespace multicard {

struct GpuInfo {
  int index = 0;       ///< among the visible ones
  std::string name;    ///< "NVIDIA H100 80GB HBM3"
  std::string bus_id;  ///< "0000:18:00.0", lower case
  std::string uuid;    ///< "GPU-8f1c...", "MIG-..." of a slice of one
  int numa_node = -1;  ///< -1 where the system does not say
  std::int64_t memory_bytes = 0;
  int compute_major = 0;  ///< compute capability
  int compute_minor = 0;
};

/// All GPUs that this process can use, by index. Where there is one, LibTorch's GPU kernels are loaded: call it before
/// the first tensor on a GPU.
std::vector<GpuInfo> visible_gpus();

/// Why visible_gpus() is empty although the machine has GPUs. Nothing where there are none, and where
/// CUDA_VISIBLE_DEVICES hides all of them on purpose ('', '-1').
std::optional<GpuProblem> gpu_problem();

/// Versions as text, e.g. driver "580.65.06", cuda_driver "13.0" (the newest CUDA the driver serves), cuda_runtime
/// "13.0", cudnn "9.19.0", nccl "2.28.9"; empty where there is none. cuDNN is known once a GPU has been found.
struct GpuSoftware {
  std::string driver, cuda_driver, cuda_runtime, cudnn, nccl;
  std::string nccl_path;  ///< of the library
};
GpuSoftware gpu_software();

/// Whether GPU `from` reads and writes the memory of GPU `to` directly.
bool peer_access(int from, int to);

/// Makes GPU `index` the one that this process uses from now on.
void use_gpu(int index);

/// Whether the GPU path was compiled in (CMake option MULTICARD_CUDA).
bool gpu_path_compiled_in();

}  // namespace multicard
