#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "device/HostMemory.hpp"

namespace multicard {

at::Tensor make_host_memory(std::int64_t num_bytes, at::Device device) {
  // zero_() touches every page, as cudaHostAlloc does when it locks them.
  if (!device.is_cuda() || num_bytes == 0) return at::empty({num_bytes}, at::kByte).zero_();
  const c10::cuda::CUDAGuard guard(device);
  void* memory = nullptr;
  const cudaError_t answer = cudaHostAlloc(&memory, static_cast<std::size_t>(num_bytes), cudaHostAllocDefault);
  if (answer != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw EnvironmentError(
        fmt::format("{} of host memory cannot be page-locked", human_bytes(static_cast<double>(num_bytes))),
        cudaGetErrorString(answer), "Give the job more host memory, or keep no checkpoints (run.keep_checkpoints=0).");
  }
  return at::from_blob(
      memory, {num_bytes}, [](void* pointer) { cudaFreeHost(pointer); }, at::kByte);
}

}  // namespace multicard
