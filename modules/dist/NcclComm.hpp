#pragma once
/// \file An NCCL communicator that never blocks for longer than the job's time-out; for the CUDA sources of
/// modules/dist only.

#include <mutex>

#include <nccl.h>

#include "comm/Communicator.hpp"

namespace multicard {

/// Non-blocking mode: every call may answer ncclInProgress, and is then asked about until it is over or late.
class NcclComm {
 public:
  /// Collective. Connects the ranks of `communicator`; the calling thread's GPU is this rank's.
  /// Throws CommunicationError when NCCL fails or the others do not come within the time-out.
  explicit NcclComm(const Communicator& communicator);
  /// Waits for what was enqueued on all ranks, unless abandon() was called. CUDA graphs that contain collectives of
  /// this communicator must be gone by then: NCCL waits for them.
  ~NcclComm();
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  ncclComm_t handle() const { return handle_; }

  /// Of a call's answer: returns when the call is over (its work is on the stream). Throws CommunicationError, having
  /// aborted the communicator, on an error or after the time-out.
  void finish_call(ncclResult_t answer, const char* call);
  /// Throws CommunicationError naming NCCL's text if the communicator has failed in the background. Any thread.
  void check_background();
  /// The destructor will not wait for anybody.
  void abandon() { abandoned_ = true; }

 private:
  [[noreturn]] void fail(ncclResult_t answer, const char* call);

  std::mutex aborting_;  ///< an aborted handle must not be asked about
  ncclComm_t handle_ = nullptr;
  double limit_s_;
  bool abandoned_ = false;
};

}  // namespace multicard
