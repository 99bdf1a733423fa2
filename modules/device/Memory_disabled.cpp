#include "device/Memory.hpp"

namespace multicard {

DeviceMemory device_memory(at::Device) {
  return {};
}

void reset_peak_device_memory(at::Device) {}

}  // namespace multicard
