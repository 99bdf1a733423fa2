#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include "kernels/cuda/ComputeCapability.hpp"

namespace multicard {

int compute_major_of(c10::Device device) {
  // One attribute, which the runtime has at hand; asking for all properties of a device takes a millisecond.
  const int index = device.has_index() ? static_cast<int>(device.index()) : c10::cuda::current_device();
  int major = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index));
  return major;
}

}  // namespace multicard
