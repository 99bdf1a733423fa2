#include <ATen/ops/empty.h>

#include "device/HostMemory.hpp"

namespace multicard {

at::Tensor make_host_memory(std::int64_t num_bytes, at::Device) {
  return at::empty({num_bytes}, at::kByte).zero_();
}

}  // namespace multicard
