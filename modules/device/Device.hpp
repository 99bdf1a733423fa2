#pragma once
/// \file Which device each rank computes on, and how it computes there.

#include <optional>
#include <string>

#include <c10/core/Device.h>

#include "comm/Communicator.hpp"
#include "comm/Topology.hpp"
#include "device/ComputeOptions.hpp"
#include "device/Gpu.hpp"

namespace multicard {

/// The device of one rank.
struct DeviceChoice {
  at::Device device = at::kCPU;
  std::string description;     ///< "cpu (AMD EPYC 9554, 1 thread)" or "cuda:0 NVIDIA H100 80GB HBM3 at 0000:18:00.0"
  std::optional<GpuInfo> gpu;  ///< of a CUDA device
  int num_sharing = 1;         ///< ranks that use this GPU, this one among them
};

/// Collective over `communicator`; `topology` is its own. All ranks get the same kind of device: `automatic` is CUDA
/// when every rank sees a GPU. The GPU of a rank is job_local_rank modulo the number of visible ones, so that runs on
/// different ranks of one job have different GPUs (and a launcher that shows each rank its own GPU works too). Throws
/// EnvironmentError, on all ranks, when CUDA is asked for and missing, or when two ranks would meet on one GPU and
/// `share` is no. With `share` yes the NCCL settings that several ranks on one GPU need are put into the environment:
/// call before the first NCCL call.
DeviceChoice choose_device(DeviceRequest request, ShareGpu share, const Communicator& communicator,
                           const Topology& topology);

/// The ranks whose GPU is that of `rank`, itself among them; see ranks_on_one_gpu().
std::vector<int> ranks_on_gpu_of(int rank, const std::vector<int>& nodes, const std::vector<GpuInfo>& gpus);

/// Ranks (two or more) that would use one GPU: equal node, and equal bus id or uuid. Empty when there are none.
/// \param nodes,gpus of each rank; nodes as in Topology: host names and bus ids repeat where nodes are clones
std::vector<int> ranks_on_one_gpu(const std::vector<int>& nodes, const std::vector<GpuInfo>& gpus);

/// Collective over `node`, the ranks of a node. How many of them may use exactly the processors of this one.
int ranks_with_my_processors(const Communicator& node);

/// Collective over the node. The number of threads an operation computes with on the CPU: OMP_NUM_THREADS, else the
/// processors of this rank divided by the ranks that share them, at least 1. \throws EnvironmentError where the threads
/// cannot be started
int compute_threads(const Topology& topology);
/// Collective over the node. Sets that number for the process.
void set_compute_threads(const Topology& topology);

/// Whether float32 products may be rounded to TF32 on the GPU. fp32 means off.
enum class Tf32 { off, on };

/// How LibTorch computes, which is set for the whole process.
struct ComputeSwitches {
  int num_threads;
  bool tf32_matmul, tf32_cudnn;
  bool is_deterministic, fills_uninitialised, is_cudnn_deterministic, tries_cudnn_algorithms;

  bool operator==(const ComputeSwitches&) const = default;
};
ComputeSwitches compute_switches();
/// Those that are deterministic before the first GPU operation.
void set_compute_switches(const ComputeSwitches& switches);

struct ComputeRequest {
  int num_threads = 1;
  Tf32 tf32 = Tf32::off;
  bool is_deterministic = false;  ///< same inputs, same bits (an operation that cannot do so throws); else cuDNN times
                                  ///< its algorithms and picks one
};
ComputeSwitches switches_for(const ComputeRequest& request);

}  // namespace multicard
