// Most copies within a GPU are LibTorch's, which counts none. The program therefore defines the copying functions of
// the CUDA runtime that LibTorch imports (a test compares the two lists), as RuntimeFunction.hpp explains. They call
// the runtime's own and count.
#include <atomic>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "device/DeviceCopies.hpp"
#include "device/RuntimeFunction.hpp"

namespace multicard {

namespace {

std::atomic<std::int64_t> total{0};

bool is_on_device(const void* address) {
  cudaPointerAttributes attributes{};
  return cudaPointerGetAttributes(&attributes, address) == cudaSuccess && attributes.type == cudaMemoryTypeDevice;
}

bool is_within_device(const void* to, const void* from, cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToDevice || (kind == cudaMemcpyDefault && is_on_device(to) && is_on_device(from));
}

cudaError_t counted(cudaError_t result, bool is_within, std::size_t bytes) {
  // A counter orders nothing: relaxed is enough. Copies from several threads are added up.
  if (result == cudaSuccess && is_within) total.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  return result;
}

}  // namespace

std::int64_t bytes_copied_within_devices() {
  return total.load(std::memory_order_relaxed);
}

}  // namespace multicard

using multicard::counted;
using multicard::is_within_device;
using multicard::of_the_runtime;

MULTICARD_REPLACES cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  static const auto copy = of_the_runtime<decltype(cudaMemcpy)>("cudaMemcpy");
  return counted(copy(to, from, bytes, kind), is_within_device(to, from, kind), bytes);
}

MULTICARD_REPLACES cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
  static const auto copy = of_the_runtime<decltype(cudaMemcpyAsync)>("cudaMemcpyAsync");
  return counted(copy(to, from, bytes, kind, stream), is_within_device(to, from, kind), bytes);
}

MULTICARD_REPLACES cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                     std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  static const auto copy = of_the_runtime<decltype(cudaMemcpy2DAsync)>("cudaMemcpy2DAsync");
  return counted(copy(to, to_pitch, from, from_pitch, width, height, kind, stream), is_within_device(to, from, kind),
                 width * height);
}

MULTICARD_REPLACES cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                       cudaStream_t stream) {
  static const auto copy = of_the_runtime<decltype(cudaMemcpyPeerAsync)>("cudaMemcpyPeerAsync");
  return counted(copy(to, to_device, from, from_device, bytes, stream), to_device == from_device, bytes);
}
