#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nccl.h>

#include "base/Error.hpp"
#include "device/Gpu.hpp"
#include "device/NcclLibrary.hpp"
#include "device/NvidiaDriver.hpp"

namespace multicard {

namespace {

constexpr int kNcclNeeded = 22800;  // cmake/GpuLibraries.cmake asks the same of the build

void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  // Else the next unrelated call would report this error again.
  static_cast<void>(cudaGetLastError());
  throw EnvironmentError(fmt::format("{} failed", call), cudaGetErrorString(code));
}

/// A slice of a GPU (MIG) has its own name, "NVIDIA H100 80GB HBM3 MIG 1g.10gb", and its own kind of identity.
std::string uuid_text(const cudaDeviceProp& properties) {
  const bool is_slice = std::string(properties.name).find(" MIG ") != std::string::npos;
  std::string text = is_slice ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(properties.uuid.bytes[i]));
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
  gpu.uuid = uuid_text(properties);
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

/// 91900 is 9.19.0
std::string cudnn_version_text(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// The library is there once LibTorch's GPU part is loaded.
std::string cudnn_version() {
  const auto version = reinterpret_cast<std::size_t (*)()>(dlsym(RTLD_DEFAULT, "cudnnGetVersion"));
  return version ? cudnn_version_text(version()) : "";
}

int nccl_version() {
  int version = 0;
  // Without a handle the wrapper would throw; asking for versions must work on a machine without NCCL.
  if (nccl_library().handle && ncclGetVersion(&version) != ncclSuccess) version = 0;
  return version;
}

std::string load_error() {
  if (!nccl_library().handle) return nccl_library().error;
  if (nccl_version() < kNcclNeeded)
    return fmt::format("{}: NCCL {} is older than the {} that LibTorch calls", nccl_library().path,
                       nccl_version_text(nccl_version()), nccl_version_text(kNcclNeeded));
  // At once (RTLD_NOW): a missing symbol shows here with its name, not at the first call in the middle of a run.
  return dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) ? "" : dlerror();
}

/// LibTorch's GPU kernels register themselves when their library is loaded, which takes 350 MB and half a second: only
/// where they can run. NCCL comes first, so that it is the one that this program was built with. Empty, or the loader's
/// words.
const std::string& load_torch_kernels() {
  static const std::string error = load_error();
  return error;
}

GpuFailure failure_of(cudaError_t code, bool has_driver_library) {
  switch (code) {
    case cudaErrorInsufficientDriver:
      return has_driver_library ? GpuFailure::driver_too_old : GpuFailure::no_driver_library;
    case cudaSuccess:
    case cudaErrorNoDevice:
      return GpuFailure::hidden;
    case cudaErrorSystemNotReady:
      return GpuFailure::not_ready;
    case cudaErrorSystemDriverMismatch:
      return GpuFailure::driver_mismatch;
    case cudaErrorCompatNotSupportedOnDevice:
      return GpuFailure::compat_refused;
    default:
      return GpuFailure::other;
  }
}

/// As a user or Slurm ("NoDevFiles") writes that no GPU is wanted.
bool hides_all(const std::optional<std::string>& visible_devices) {
  return visible_devices && (visible_devices->empty() || *visible_devices == "-1" || *visible_devices == "NoDevFiles");
}

/// What CUDA answers when asked for its devices.
struct DeviceCount {
  int number = 0;
  cudaError_t code = cudaSuccess;
};

DeviceCount count_devices() {
  DeviceCount count;
  count.code = cudaGetDeviceCount(&count.number);
  if (count.code == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  count.number = 0;
  return count;
}

}  // namespace

std::vector<GpuInfo> visible_gpus() {
  const int number = count_devices().number;
  if (number == 0 || !load_torch_kernels().empty()) return {};
  std::vector<GpuInfo> gpus;
  gpus.reserve(static_cast<std::size_t>(number));
  for (int index = 0; index < number; ++index)
    gpus.push_back(describe(index));
  return gpus;
}

std::optional<GpuProblem> gpu_problem() {
  // From the outside in: does CUDA count devices, does the machine have any, what does CUDA say then.
  const DeviceCount count = count_devices();
  const GpuSoftware software = gpu_software();
  GpuFindings findings;
  findings.driver = software.driver;
  findings.cuda_driver = software.cuda_driver;
  findings.cuda_runtime = software.cuda_runtime;
  findings.num_gpus = num_gpus_of_machine();
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) findings.visible_devices = visible;
  if (count.number > 0) {
    findings.failure = GpuFailure::library;
    findings.error = load_torch_kernels();
    return findings.error.empty() ? std::nullopt : std::optional(describe(findings));
  }
  const bool has_driver_library = !software.cuda_driver.empty();
  findings.failure = failure_of(count.code, has_driver_library);
  findings.error = fmt::format("cudaGetDeviceCount: {}", cudaGetErrorString(count.code));
  // Some systems show no kernel module (WSL): there an error other than "no device" says that there is a GPU.
  const bool has_gpus = findings.num_gpus > 0 || (has_driver_library && findings.failure != GpuFailure::hidden);
  if (!has_gpus || hides_all(findings.visible_devices)) return std::nullopt;
  return describe(findings);
}

GpuSoftware gpu_software() {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) static_cast<void>(cudaGetLastError());
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) static_cast<void>(cudaGetLastError());
  GpuSoftware software;
  software.driver = nvidia_driver_version();
  software.cuda_driver = cuda_version_text(driver);
  software.cuda_runtime = cuda_version_text(runtime);
  software.cudnn = cudnn_version();
  if (const int nccl = nccl_version(); nccl > 0) software.nccl = nccl_version_text(nccl);
  software.nccl_path = nccl_library().path;
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
