// See RuntimeFunction.hpp for how calls come here.
#include <atomic>
#include <chrono>

#include <cuda_runtime_api.h>

#include "device/EventDestroys.hpp"
#include "device/RuntimeFunction.hpp"

namespace multicard {

namespace {

std::atomic<EventDestroyObserver> current{nullptr};

std::int64_t now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::system_clock;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

void observe_event_destroys(EventDestroyObserver observer) {
  current = observer;
}

}  // namespace multicard

MULTICARD_REPLACES cudaEventDestroy(cudaEvent_t event) {
  static const auto destroy = multicard::of_the_runtime<decltype(cudaEventDestroy)>("cudaEventDestroy");
  const multicard::EventDestroyObserver observer = multicard::current.load(std::memory_order_acquire);
  if (observer == nullptr) return destroy(event);
  const std::int64_t begin = multicard::now();
  const cudaError_t result = destroy(event);
  observer(begin, multicard::now());
  return result;
}
