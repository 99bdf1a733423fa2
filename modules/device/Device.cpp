#include "device/Device.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "base/Thread.hpp"
#include "comm/Agreement.hpp"

namespace multicard {

namespace {

std::string cpu_description() {
  return fmt::format("cpu ({}, {})", cpu_model(), counted(at::get_num_threads(), "thread"));
}

void require_gpus(const Communicator& communicator, bool have_one) {
  agreed(communicator, [&] {
    if (have_one) return;
    const std::string who = fmt::format("rank {} on {}", communicator.rank(), host_name());
    if (const std::optional<GpuProblem> problem = gpu_problem())
      throw EnvironmentError("run.device is cuda, but " + problem->problem, fmt::format("{}: {}", who, problem->why),
                             problem->suggestion + " With run.device=cpu it runs without GPUs.");
    if (!gpu_path_compiled_in())
      throw EnvironmentError(
          "run.device is cuda, but this multicard was built without its GPU path", "",
          "Build with a CUDA toolkit and the CMake option MULTICARD_CUDA=ON, or set run.device=cpu.");
    throw EnvironmentError("run.device is cuda, but there is no GPU", who + " sees none",
                           "Ask the batch system for GPUs, check nvidia-smi and CUDA_VISIBLE_DEVICES, or set "
                           "run.device=cpu.");
  });
}

/// Collective. Says why ranks that could choose compute on the CPU; nothing where there are no GPUs at all.
void warn_of_unused_gpus(const Communicator& communicator, bool have_one) {
  const std::string who = fmt::format("rank {} on {}", communicator.rank(), host_name());
  const std::optional<GpuProblem> problem = have_one ? std::nullopt : gpu_problem();
  const auto problems = communicator.allgather(
      problem ? fmt::format("{} ({}: {}) {}", problem->problem, who, problem->why, problem->suggestion) : "");
  const auto ranks_without = communicator.allgather(have_one ? "" : who);
  const auto speaks = [](const std::string& text) { return !text.empty(); };
  std::string why;
  if (const auto first = std::find_if(problems.begin(), problems.end(), speaks); first != problems.end())
    why = *first;
  else if (!std::all_of(ranks_without.begin(), ranks_without.end(), speaks))
    why = fmt::format("{} sees none, others do.", *std::find_if(ranks_without.begin(), ranks_without.end(), speaks));
  else
    return;
  log_warning(
      fmt::format("NO GPU IS USED, everything is computed on the CPU: {} Set run.device=cpu if that is "
                  "intended, run.device=cuda to require GPUs.",
                  why));
}

/// Each rank's GPU as all ranks must know it; only the fields that tell GPUs apart.
std::vector<GpuInfo> gather(const Communicator& communicator, const GpuInfo& mine) {
  const auto bus_ids = communicator.allgather(mine.bus_id);
  const auto uuids = communicator.allgather(mine.uuid);
  std::vector<GpuInfo> all(bus_ids.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r].bus_id = bus_ids[r];
    all[r].uuid = uuids[r];
  }
  return all;
}

/// NCCL refuses two ranks with equal host and bus id. With an identity of its own each rank counts as a node and talks
/// through the loopback network; the other settings switch off what needs a GPU or a network card for each rank.
void let_ranks_share_gpus(int rank) {
  // The identity must be ours; all else is only a default (the 0), which the user's own setting replaces.
  setenv("NCCL_HOSTID", fmt::format("multicard-rank-{}", rank).c_str(), 1);
  for (const char* off : {"NCCL_NVLS_ENABLE", "NCCL_MNNVL_ENABLE", "NCCL_RAS_ENABLE"})
    setenv(off, "0", 0);
  setenv("NCCL_IB_DISABLE", "1", 0);
  setenv("NCCL_NET", "Socket", 0);
  setenv("NCCL_ALGO", "Ring", 0);
  setenv("NCCL_PROTO", "Simple", 0);
}

/// Returns how many ranks use this rank's GPU.
int settle_sharing(ShareGpu share, const Communicator& communicator, const Topology& topology, const GpuInfo& mine) {
  // All ranks judge the same list, so that all take or refuse the sharing together.
  const std::vector<GpuInfo> gpus = gather(communicator, mine);
  const std::vector<int> together = ranks_on_one_gpu(topology.nodes, gpus);
  if (together.empty()) return 1;
  if (share == ShareGpu::yes) {
    let_ranks_share_gpus(communicator.rank());
    return static_cast<int>(ranks_on_gpu_of(communicator.rank(), topology.nodes, gpus).size());
  }
  const auto first = static_cast<std::size_t>(together.front());
  std::vector<std::string> ranks;
  ranks.reserve(together.size());
  for (const int r : together)
    ranks.push_back(std::to_string(r));
  throw EnvironmentError(
      fmt::format("ranks {} on {} would use one GPU", join(ranks, ", "), topology.hosts[first]),
      fmt::format("GPU {}; NCCL allows one rank per GPU", gpus[first].bus_id),
      "Start as many ranks on a node as it has GPUs, or set parallel.share_gpu=true to share one (slow, for tests).")
      .on_all_ranks();
}

std::optional<int> openmp_threads() {
  const char* value = std::getenv("OMP_NUM_THREADS");
  const int number = value ? std::atoi(value) : 0;
  return number > 0 ? std::optional<int>(number) : std::nullopt;
}

void set_threads(int threads) {
  static std::once_flag once;
  std::call_once(once, [threads] {
    // Also where the number is right already: MKL would otherwise take fewer threads when it sees fit.
    at::set_num_threads(threads);
    // No operation here forks between operators; LibTorch takes this setting once in the life of a process.
    at::set_num_interop_threads(1);
  });
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
}

}  // namespace

std::vector<int> ranks_on_gpu_of(int rank, const std::vector<int>& nodes, const std::vector<GpuInfo>& gpus) {
  const auto mine = static_cast<std::size_t>(rank);
  // NCCL distinguishes GPUs by their bus ids, which the MIG slices of one GPU share; they repeat between nodes. A uuid
  // never means two GPUs.
  std::vector<int> together;
  for (std::size_t r = 0; r < gpus.size(); ++r) {
    const bool same_uuid = !gpus[r].uuid.empty() && gpus[r].uuid == gpus[mine].uuid;
    if (nodes[r] == nodes[mine] && (gpus[r].bus_id == gpus[mine].bus_id || same_uuid))
      together.push_back(static_cast<int>(r));
  }
  return together;
}

std::vector<int> ranks_on_one_gpu(const std::vector<int>& nodes, const std::vector<GpuInfo>& gpus) {
  for (std::size_t r = 0; r < gpus.size(); ++r)
    if (std::vector<int> together = ranks_on_gpu_of(static_cast<int>(r), nodes, gpus); together.size() > 1)
      return together;
  return {};
}

DeviceChoice choose_device(DeviceRequest request, ShareGpu share, const Communicator& communicator,
                           const Topology& topology) {
  if (request == DeviceRequest::cpu) return {at::kCPU, cpu_description(), std::nullopt};
  const std::vector<GpuInfo> gpus = visible_gpus();
  // All ranks compute on one kind of device, since their collectives are of one kind: a rank without a GPU decides.
  const bool everywhere = communicator.allreduce(gpus.empty() ? 0 : 1, ReduceOp::min) == 1;
  if (request == DeviceRequest::automatic && !everywhere) {
    warn_of_unused_gpus(communicator, !gpus.empty());
    return {at::kCPU, cpu_description(), std::nullopt};
  }
  require_gpus(communicator, !gpus.empty());
  const GpuInfo& mine = gpus[static_cast<std::size_t>(topology.job_local_rank) % gpus.size()];
  const int num_sharing = settle_sharing(share, communicator, topology, mine);
  use_gpu(mine.index);
  return {at::Device(at::kCUDA, static_cast<at::DeviceIndex>(mine.index)),
          fmt::format("cuda:{} {} at {}", mine.index, mine.name, mine.bus_id), mine, num_sharing};
}

int ranks_with_my_processors(const Communicator& node) {
  // Ranks whose sets only overlap do not count: with the bindings of launchers sets are equal or disjoint.
  const std::string mine = cpu_set_text();
  const auto all = node.allgather(mine);
  return std::max(1, static_cast<int>(std::count(all.begin(), all.end(), mine)));  // itself at least
}

int compute_threads(const Topology& topology) {
  const int sharing = ranks_with_my_processors(topology.node);
  const int fair = std::max(1, available_cpus() / sharing);
  const int threads = openmp_threads().value_or(fair);
  // libgomp ends the process where it cannot start one of its own.
  require_threads(threads - 1, "a compute thread");
  return threads;
}

void set_compute_threads(const Topology& topology) {
  set_threads(compute_threads(topology));
}

ComputeSwitches switches_for(const ComputeRequest& request) {
  // Deterministic mode also fills memory of at::empty with NaN to find reads of it, a pass over every tensor: switched
  // off. Timing algorithms may choose another one in each run, with other roundings.
  const bool rounds = request.tf32 == Tf32::on;
  return {.num_threads = request.num_threads,
          .tf32_matmul = rounds,
          .tf32_cudnn = rounds,
          .is_deterministic = request.is_deterministic,
          .fills_uninitialised = false,
          .is_cudnn_deterministic = request.is_deterministic,
          .tries_cudnn_algorithms = !request.is_deterministic};
}

ComputeSwitches compute_switches() {
  const at::Context& context = at::globalContext();
  return {.num_threads = at::get_num_threads(),
          .tf32_matmul = context.allowTF32CuBLAS(),
          .tf32_cudnn = context.allowTF32CuDNN(),
          .is_deterministic = context.deterministicAlgorithms(),
          .fills_uninitialised = context.deterministicFillUninitializedMemory(),
          .is_cudnn_deterministic = context.deterministicCuDNN(),
          .tries_cudnn_algorithms = context.benchmarkCuDNN()};
}

void set_compute_switches(const ComputeSwitches& switches) {
  set_threads(switches.num_threads);
  // cuBLAS reads it when it is first used. Eight workspaces of 4 MiB: with one fixed set of them cuBLAS takes the same
  // algorithm for the same call.
  if (switches.is_deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(switches.tf32_matmul);
  context.setAllowTF32CuDNN(switches.tf32_cudnn);
  context.setDeterministicAlgorithms(switches.is_deterministic, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(switches.fills_uninitialised);
  context.setDeterministicCuDNN(switches.is_cudnn_deterministic);
  context.setBenchmarkCuDNN(switches.tries_cudnn_algorithms);
}

}  // namespace multicard
