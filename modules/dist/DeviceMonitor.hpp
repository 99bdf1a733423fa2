#pragma once
/// \file Watches collectives that run on a GPU; for the CUDA sources of modules/dist only.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include <ATen/cuda/CUDAEvent.h>

#include "comm/Watchdog.hpp"

namespace multicard {

/// Keeps a watchdog guard for each operation on a stream until the GPU has passed it, since no host thread waits for
/// it, and looks at the health of the communicator meanwhile.
class DeviceMonitor {
 public:
  /// \param check throws an Error when the communicator has failed; the job is aborted then
  DeviceMonitor(at::Device device, Watchdog* watchdog, std::function<void()> check);
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  /// An operation has just been put on `stream`; call outside graph capture.
  void watch(const c10::cuda::CUDAStream& stream, const char* operation);
  /// Whether the GPU has passed all operations watched.
  bool is_idle();

 private:
  struct Open {
    at::cuda::CUDAEvent done;
    std::unique_ptr<Watchdog::Guard> guard;
  };
  void run();
  void forget_finished();

  at::Device device_;
  Watchdog* watchdog_;
  std::function<void()> check_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Open> open_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace multicard
