#include "base/Error.hpp"
#include "device/DeviceReadback.hpp"

namespace multicard {

std::unique_ptr<Readback> make_device_readback(at::Device) {
  throw EnvironmentError("reading from a GPU needs the GPU path", "this multicard was built without it",
                         "Build with a CUDA toolkit and the CMake option MULTICARD_CUDA=ON.");
}

}  // namespace multicard
