#include "base/Error.hpp"
#include "device/Gpu.hpp"

namespace multicard {

std::vector<GpuInfo> visible_gpus() {
  return {};
}

GpuSoftware gpu_software() {
  return {};
}

bool peer_access(int, int) {
  return false;
}

void use_gpu(int) {
  throw EnvironmentError("this multicard was built without its GPU path", "",
                         "Build with a CUDA toolkit and the CMake option MULTICARD_CUDA=ON.");
}

bool gpu_path_compiled_in() {
  return false;
}

}  // namespace multicard
