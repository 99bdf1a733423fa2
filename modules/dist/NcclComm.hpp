#pragma once
/// \file An NCCL communicator; for the CUDA sources of modules/dist only.

#include <nccl.h>

#include "comm/Communicator.hpp"

namespace multicard {

/// A blocking communicator: a call is over when it returns. Three threads have to do with it.
///
/// - The thread that trains makes all calls but one. A call may wait for other ranks (connecting, closing, the first
///   use of a path between two GPUs), so each is made under a guard of the watchdog that is taken before it.
/// - The monitor (dist/DeviceMonitor.hpp) asks for errors in the background, nothing else. Of a blocking communicator
///   ncclCommGetAsyncError reads atomic flags; of a non-blocking one it also joins and frees the thread that NCCL
///   starts for each call, and so do the calls themselves: two threads would free it twice. The monitor is gone before
///   the communicator is.
/// - The watchdog's thread never calls NCCL. When a guard is late it prints the operation and ends the process with
///   exit code 5 (comm/Mpi.hpp), in whatever call the other threads are stuck.
class NcclComm {
 public:
  /// Collective. Connects the ranks of `communicator`; the calling thread's GPU is this rank's. Throws as check().
  explicit NcclComm(const Communicator& communicator);
  /// Collective, and waits for what was enqueued on all ranks; CUDA graphs that contain collectives of this
  /// communicator must be gone by then, since NCCL waits for them. While an exception passes, the other ranks may not
  /// come: then it stops what is under way and does not wait.
  ~NcclComm();
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  ncclComm_t handle() const { return handle_; }

  /// Of a call's answer. Throws EnvironmentError for an error of the GPU and CommunicationError for another.
  void check(ncclResult_t answer, const char* call) const;
  /// Throws as check() if the communicator has failed in the background. Any thread.
  void check_background() const;

 private:
  Communicator communicator_;
  ncclComm_t handle_ = nullptr;
  int exceptions_at_start_;
};

}  // namespace multicard
