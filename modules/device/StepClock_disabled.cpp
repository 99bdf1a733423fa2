#include "base/Error.hpp"
#include "device/StepClock.hpp"

namespace multicard {

std::unique_ptr<StepObserver> make_phase_ranges(std::function<std::int64_t()>) {
  return nullptr;
}

std::unique_ptr<TimeMarks> make_device_marks(at::Device) {
  throw EnvironmentError("a GPU's clock needs the GPU path", "this multicard was built without it",
                         "Build with a CUDA toolkit and the CMake option MULTICARD_CUDA=ON.");
}

}  // namespace multicard
