#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

#include "base/Error.hpp"
#include "device/Gpu.hpp"

namespace multicard {

namespace {

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  // Else the next unrelated call would report this error again.
  static_cast<void>(cudaGetLastError());
  throw EnvironmentError(fmt::format("{} failed", call), cudaGetErrorString(code));
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string bus_id_of(int index) {
  std::array<char, 32> text{};
  check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index), "cudaDeviceGetPCIBusId");
  std::string id = text.data();
  for (char& c : id)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return id;
}

int numa_node_of(const std::string& bus_id) {
  int node = -1;
  std::ifstream("/sys/bus/pci/devices/" + bus_id + "/numa_node") >> node;
  return node;
}

GpuInfo describe(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  GpuInfo gpu;
  gpu.index = index;
  gpu.name = properties.name;
  gpu.bus_id = bus_id_of(index);
  gpu.uuid = uuid_text(properties.uuid);
  gpu.numa_node = numa_node_of(gpu.bus_id);
  gpu.memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
  gpu.compute_major = properties.major;
  gpu.compute_minor = properties.minor;
  return gpu;
}

/// 13000 is 13.0
std::string cuda_version_text(int version) {
  return version > 0 ? fmt::format("{}.{}", version / 1000, version % 1000 / 10) : "";
}

/// 22809 is 2.28.9
std::string nccl_version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// The first word of /proc/driver/nvidia/version that looks like 580.65.06.
std::string kernel_driver_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line, word;
  std::getline(file, line);
  std::size_t from = 0;
  while (from < line.size()) {
    const std::size_t until = std::min(line.find(' ', from), line.size());
    word = line.substr(from, until - from);
    if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos)
      return word;
    from = until + 1;
  }
  return "";
}

/// LibTorch's GPU kernels register themselves when their library is loaded, which takes 350 MB and half a second: only
/// where they can run.
void load_torch_kernels() {
  static const bool is_loaded = [] {
    if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return true;
    throw EnvironmentError("libtorch_cuda.so cannot be loaded", dlerror(), "Check TORCH_ROOT and the CUDA libraries.");
  }();
  static_cast<void>(is_loaded);
}

}  // namespace

std::vector<GpuInfo> visible_gpus() {
  int number = 0;
  if (cudaGetDeviceCount(&number) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return {};
  }
  if (number > 0) load_torch_kernels();
  std::vector<GpuInfo> gpus;
  for (int index = 0; index < number; ++index)
    gpus.push_back(describe(index));
  return gpus;
}

GpuSoftware gpu_software() {
  int driver = 0, runtime = 0, nccl = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaRuntimeGetVersion(&runtime) != cudaSuccess)
    static_cast<void>(cudaGetLastError());
  GpuSoftware software;
  software.driver = kernel_driver_version();
  software.cuda_driver = cuda_version_text(driver);
  software.cuda_runtime = cuda_version_text(runtime);
  if (ncclGetVersion(&nccl) == ncclSuccess) software.nccl = nccl_version_text(nccl);
  return software;
}

bool peer_access(int from, int to) {
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, from, to) != cudaSuccess) static_cast<void>(cudaGetLastError());
  return can != 0;
}

void use_gpu(int index) {
  check(cudaSetDevice(index), "cudaSetDevice");
}

bool gpu_path_compiled_in() {
  return true;
}

}  // namespace multicard
