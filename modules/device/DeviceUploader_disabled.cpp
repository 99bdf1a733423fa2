#include "base/Error.hpp"
#include "device/DeviceUploader.hpp"

namespace multicard {

std::unique_ptr<BatchUploader> make_device_uploader(at::Device) {
  throw EnvironmentError("copying to a GPU needs the GPU path", "this multicard was built without it",
                         "Build with a CUDA toolkit and the CMake option MULTICARD_CUDA=ON.");
}

}  // namespace multicard
