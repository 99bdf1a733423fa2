#pragma once
// For tests with LibTorch's CUDA headers.

#include <c10/cuda/CUDAFunctions.h>

namespace multicard::test {

// Turns every wait of the host for a stream or the device into an error, as long as it lives: LibTorch's synchronising
// calls (copies to and from pageable memory, item(), nonzero()). Waiting for an event is none.
class NoWaiting {
 public:
  NoWaiting() { c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_ERROR); }
  ~NoWaiting() { c10::cuda::warning_state().set_sync_debug_mode(c10::cuda::SyncDebugMode::L_DISABLED); }
  NoWaiting(const NoWaiting&) = delete;
  NoWaiting& operator=(const NoWaiting&) = delete;
};

}  // namespace multicard::test
