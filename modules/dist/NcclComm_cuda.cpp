#include <exception>
#include <span>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "dist/NcclComm.hpp"

namespace multicard {

namespace {

Error failure(ncclResult_t answer, const char* call, ncclComm_t handle) {
  const std::string problem = fmt::format("{} failed", call);
  const std::string why = fmt::format("{}: {}", ncclGetErrorString(answer), ncclGetLastError(handle));
  if (answer == ncclInProgress)
    return EnvironmentError("NCCL does not wait for its calls to end", "NCCL_COMM_BLOCKING=0 is in the environment",
                            "Unset NCCL_COMM_BLOCKING.");
  if (answer == ncclUnhandledCudaError)
    return EnvironmentError(problem, why,
                            "NCCL_DEBUG=WARN names the failing CUDA call; nvidia-smi shows the GPU's state.");
  return CommunicationError(problem, why, "NCCL_DEBUG=INFO says more.");
}

ncclUniqueId agree_on_id(const Communicator& communicator) {
  // The id holds the address at which the root listens; the other ranks cannot know it, so it comes over MPI.
  ncclUniqueId id{};
  agreed(communicator, [&] {
    if (!communicator.is_root()) return;
    const ncclResult_t answer = ncclGetUniqueId(&id);
    if (answer != ncclSuccess) throw failure(answer, "ncclGetUniqueId", nullptr);
  });
  communicator.broadcast(std::span<char>(id.internal));
  return id;
}

/// Whether the GPU answers every call with the error of an earlier one.
bool is_gpu_lost() {
  const cudaError_t state = cudaStreamQuery(cudaStreamPerThread);
  static_cast<void>(cudaGetLastError());
  return state != cudaSuccess && state != cudaErrorNotReady;
}

}  // namespace

NcclComm::NcclComm(const Communicator& communicator)
    : communicator_(communicator), exceptions_at_start_(std::uncaught_exceptions()) {
  const ncclUniqueId id = agree_on_id(communicator);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;
  config.commName = "multicard";
  const Watchdog::Guard guard(communicator_.watchdog(), "connecting the GPUs with NCCL");
  check(ncclCommInitRankConfig(&handle_, communicator.size(), id, communicator.rank(), &config),
        "ncclCommInitRankConfig");
}

NcclComm::~NcclComm() {
  const Watchdog::Guard guard(communicator_.watchdog(), "closing the connections of NCCL");
  // More than at the start: an object may be made and destroyed in order while an older exception passes.
  if (std::uncaught_exceptions() > exceptions_at_start_) {
    if (!is_gpu_lost()) ncclCommAbort(handle_);  // else the process is about to end, and NCCL has nothing to free
    return;
  }
  try {
    check(ncclCommFinalize(handle_), "ncclCommFinalize");
  } catch (const Error& error) {
    log_local_error(error.what());
  }
  ncclCommDestroy(handle_);
}

void NcclComm::check(ncclResult_t answer, const char* call) const {
  if (answer != ncclSuccess) throw failure(answer, call, handle_);
}

void NcclComm::check_background() const {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(handle_, &state), "ncclCommGetAsyncError");
  check(state, "a collective of NCCL");
}

}  // namespace multicard
