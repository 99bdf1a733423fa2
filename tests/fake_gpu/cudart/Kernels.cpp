// Kernels are counted by name and do nothing, but for one: at::fill_, so that zeros and ones are what they say.
#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include <dlfcn.h>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

constexpr std::size_t kMostFilled = 64 * kMiB;

struct Kernel {
  std::string name = "unregistered";
  Counter* counter = nullptr;
  std::size_t fill_width = 0;  ///< bytes of the value that at::fill_ writes, 0 for other kernels
};

std::mutex kernels_mutex;

std::unordered_map<const void*, Kernel>& kernels() {
  static auto* const all = new std::unordered_map<const void*, Kernel>;
  return *all;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

/// By the demangled name: at::fill_ of contiguous memory, of a type whose width is known.
std::size_t fill_width_of(const std::string& mangled) {
  const bool is_contiguous =
      contains(mangled, "29vectorized_elementwise_kernel") ||
      (contains(mangled, "27unrolled_elementwise_kernel") && contains(mangled, "TrivialOffsetCalculator"));
  if (!is_contiguous || !contains(mangled, "FillFunctor")) return 0;
  const std::string name = demangled(mangled);
  const std::string before = "FillFunctor<";
  const std::size_t at = name.find(before);
  if (at == std::string::npos || !contains(name, "std::array<char*, 1ul>")) return 0;
  const std::size_t first = at + before.size();
  static const std::map<std::string, std::size_t> widths = {
      {"double", 8}, {"long", 8}, {"float", 4},       {"int", 4},           {"short", 2},        {"c10::Half", 2},
      {"bool", 1},   {"char", 1}, {"signed char", 1}, {"unsigned char", 1}, {"c10::BFloat16", 2}};
  const auto found = widths.find(name.substr(first, name.find('>', first) - first));
  return found == widths.end() ? 0 : found->second;
}

/// Arguments of ATen's element-wise kernels: how many values, the functor (which is the value), the pointers.
std::function<void()> fill_work(std::size_t width, void** arguments) {
  const auto number = static_cast<std::size_t>(*static_cast<int*>(arguments[0]));
  std::uint64_t value = 0;
  std::memcpy(&value, arguments[1], width);
  char* const at = *static_cast<char**>(arguments[2]);
  return [=] {
    if (value == 0) return fill_bytes(at, 0, number * width);
    if (number * width > kMostFilled) return;
    for (std::size_t i = 0; i < number; ++i)
      std::memcpy(at + i * width, &value, width);
  };
}

const Kernel& kernel_of(const void* function) {
  const std::lock_guard lock(kernels_mutex);
  Kernel& one = kernels()[function];
  if (!one.counter) {
    one.counter = &counter("kernel", one.name);
    one.fill_width = fill_width_of(one.name);
  }
  return one;
}

bool is_possible(dim3 grid, dim3 block) {
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 2147483647U && grid.y <= 65535 && grid.z <= 65535 &&
         threads > 0 && threads <= 1024 && block.z <= 64;
}

cudaError_t launch_kernel(const Kernel& kernel, dim3 grid, dim3 block, void** arguments, cudaStream_t stream) {
  if (const int error = device_error()) return fail(static_cast<cudaError_t>(error));
  if (!is_possible(grid, block)) return fail(cudaErrorInvalidConfiguration);
  launch(stream, *kernel.counter, kernel.fill_width > 0 ? fill_work(kernel.fill_width, arguments) : nullptr);
  return cudaSuccess;
}

struct CallConfiguration {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

thread_local std::vector<CallConfiguration> pushed;

}  // namespace

}  // namespace fake

// What the compiler generates: kernels register themselves when a library is loaded.
FAKE_API void** __cudaRegisterFatBinary(void*) {
  static void* handle[1];
  return handle;
}

FAKE_API void __cudaRegisterFatBinaryEnd(void**) {}

FAKE_API void __cudaUnregisterFatBinary(void**) {}

FAKE_API char __cudaInitModule(void**) {
  return 1;
}

FAKE_API void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

FAKE_API void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                                     dim3*, int*) {
  const std::lock_guard lock(fake::kernels_mutex);
  fake::kernels()[host].name = name;
}

FAKE_API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream) {
  fake::pushed.push_back({grid, block, shared_bytes, stream});
  return 0;
}

FAKE_API cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream) {
  if (fake::pushed.empty()) return cudaErrorMissingConfiguration;
  const fake::CallConfiguration one = fake::pushed.back();
  fake::pushed.pop_back();
  *grid = one.grid;
  *block = one.block;
  *shared_bytes = one.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = one.stream;
  return cudaSuccess;
}

FAKE_API cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<fake::Kernel*>(&fake::kernel_of(function)));
  return cudaSuccess;
}

FAKE_API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t,
                                        cudaStream_t stream) {
  FAKE_COUNT();
  return fake::launch_kernel(*reinterpret_cast<fake::Kernel*>(kernel), grid, block, arguments, stream);
}

FAKE_API cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t,
                                      cudaStream_t stream) {
  FAKE_COUNT();
  return fake::launch_kernel(fake::kernel_of(function), grid, block, arguments, stream);
}

FAKE_API cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                                 std::size_t, cudaStream_t stream) {
  FAKE_COUNT();
  return fake::launch_kernel(fake::kernel_of(function), grid, block, arguments, stream);
}

FAKE_API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  FAKE_COUNT();
  return fake::launch_kernel(fake::kernel_of(function), config->gridDim, config->blockDim, arguments, config->stream);
}

FAKE_API cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  FAKE_COUNT();
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = 49152;
  return cudaSuccess;
}

FAKE_API cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  FAKE_COUNT();
  return cudaSuccess;
}

FAKE_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads,
                                                                            std::size_t, unsigned) {
  FAKE_COUNT();
  *blocks = std::max(1, 2048 / std::max(1, threads));
  return cudaSuccess;
}

FAKE_API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                                   std::size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, 0);
}

FAKE_API cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                                      cudaDriverEntryPointQueryResult* status) {
  FAKE_COUNT();
  *function = dlsym(RTLD_DEFAULT, symbol);
  if (!*function) *function = dlsym(RTLD_DEFAULT, (std::string(symbol) + "_v2").c_str());
  if (status) *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
