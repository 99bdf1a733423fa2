// Most copies within a GPU are LibTorch's, which counts none. The program therefore defines those functions of the CUDA
// runtime that copy: the dynamic linker takes the definitions of a program before those of any library, so that calls
// from LibTorch come here too. They count and call the runtime's own. Statically linked libraries (NCCL) have a runtime
// of their own and go past them.
#include <atomic>
#include <cstdint>

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include "device/DeviceCopies.hpp"

namespace multicard {

namespace {

std::atomic<std::int64_t> total{0};

/// The runtime's function of this name: the next one after the program's.
template <typename Function>
Function* of_the_runtime(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_on_device(const void* address) {
  cudaPointerAttributes attributes{};
  return cudaPointerGetAttributes(&attributes, address) == cudaSuccess && attributes.type == cudaMemoryTypeDevice;
}

void count(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool is_within =
      kind == cudaMemcpyDeviceToDevice || (kind == cudaMemcpyDefault && is_on_device(to) && is_on_device(from));
  if (is_within) total.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

}  // namespace

std::int64_t bytes_copied_within_devices() {
  return total.load(std::memory_order_relaxed);
}

}  // namespace multicard

#define MULTICARD_REPLACES extern "C" __attribute__((visibility("default"))) cudaError_t

MULTICARD_REPLACES cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  static const auto runtime = multicard::of_the_runtime<decltype(cudaMemcpy)>("cudaMemcpy");
  multicard::count(to, from, bytes, kind);
  return runtime(to, from, bytes, kind);
}

MULTICARD_REPLACES cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
  static const auto runtime = multicard::of_the_runtime<decltype(cudaMemcpyAsync)>("cudaMemcpyAsync");
  multicard::count(to, from, bytes, kind);
  return runtime(to, from, bytes, kind, stream);
}

MULTICARD_REPLACES cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                     std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  static const auto runtime = multicard::of_the_runtime<decltype(cudaMemcpy2DAsync)>("cudaMemcpy2DAsync");
  multicard::count(to, from, width * height, kind);
  return runtime(to, to_pitch, from, from_pitch, width, height, kind, stream);
}

MULTICARD_REPLACES cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                       cudaStream_t stream) {
  static const auto runtime = multicard::of_the_runtime<decltype(cudaMemcpyPeerAsync)>("cudaMemcpyPeerAsync");
  multicard::count(to, from, bytes, cudaMemcpyDeviceToDevice);
  return runtime(to, to_device, from, from_device, bytes, stream);
}
