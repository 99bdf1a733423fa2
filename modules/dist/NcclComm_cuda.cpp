#include <chrono>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "comm/Watchdog.hpp"
#include "dist/NcclComm.hpp"

namespace multicard {

namespace {

constexpr double kLimitWithoutWatchdogS = 300;

CommunicationError failure(ncclResult_t answer, const char* call, ncclComm_t handle) {
  return CommunicationError(fmt::format("{} failed", call),
                            fmt::format("{}: {}", ncclGetErrorString(answer), ncclGetLastError(handle)),
                            "NCCL_DEBUG=INFO says more.");
}

ncclUniqueId agree_on_id(const Communicator& communicator) {
  ncclUniqueId id{};
  agreed(communicator, [&] {
    if (!communicator.is_root()) return;
    const ncclResult_t answer = ncclGetUniqueId(&id);
    if (answer != ncclSuccess) throw failure(answer, "ncclGetUniqueId", nullptr);
  });
  communicator.broadcast(std::span<char>(id.internal));
  return id;
}

/// Calls are usually over at once, connecting takes seconds.
void pause_after(double seconds_waited) {
  if (seconds_waited < 1e-3)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(200));
}

}  // namespace

NcclComm::NcclComm(const Communicator& communicator)
    : limit_s_(communicator.watchdog() ? communicator.watchdog()->limit() : kLimitWithoutWatchdogS) {
  const ncclUniqueId id = agree_on_id(communicator);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.commName = "multicard";
  finish_call(ncclCommInitRankConfig(&handle_, communicator.size(), id, communicator.rank(), &config),
              "ncclCommInitRankConfig");
}

NcclComm::~NcclComm() {
  if (!handle_) return;
  try {
    if (!abandoned_) finish_call(ncclCommFinalize(handle_), "ncclCommFinalize");
  } catch (const Error& error) {
    log_local_error(error.what());
  }
  if (!handle_) return;
  if (abandoned_)
    ncclCommAbort(handle_);
  else
    ncclCommDestroy(handle_);
}

void NcclComm::finish_call(ncclResult_t answer, const char* call) {
  const TimePoint start = SteadyClock::now();
  while (answer == ncclInProgress) {
    const double waited = seconds_since(start);
    if (waited > limit_s_) fail(answer, call);
    pause_after(waited);
    const ncclResult_t asked = ncclCommGetAsyncError(handle_, &answer);
    if (asked != ncclSuccess) fail(asked, "ncclCommGetAsyncError");
  }
  if (answer != ncclSuccess) fail(answer, call);
}

void NcclComm::fail(ncclResult_t answer, const char* call) {
  const CommunicationError error =
      answer == ncclInProgress
          ? CommunicationError(fmt::format("{} did not finish within {} s", call, limit_s_),
                               "another rank has stopped answering", "See the other ranks' last lines.")
          : failure(answer, call, handle_);
  // Kernels and threads of NCCL that wait for other ranks end only so.
  const std::lock_guard lock(aborting_);
  if (handle_) ncclCommAbort(handle_);
  handle_ = nullptr;
  throw error;
}

void NcclComm::check_background() {
  const std::lock_guard lock(aborting_);
  if (!handle_) return;
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(handle_, &state);
  if (asked != ncclSuccess) throw failure(asked, "ncclCommGetAsyncError", handle_);
  if (state != ncclSuccess && state != ncclInProgress) throw failure(state, "a collective of NCCL", handle_);
}

}  // namespace multicard
