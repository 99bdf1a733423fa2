#pragma once
/// \file Watches collectives that run on a GPU; for the CUDA sources of modules/dist only.

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include <ATen/cuda/CUDAEvent.h>

#include "base/Error.hpp"
#include "comm/Watchdog.hpp"

namespace multicard {

/// Keeps the watchdog's guard of each operation on a stream until the GPU has passed it, since no host thread waits for
/// it, and looks at the health of the communicator meanwhile. What it finds ends the job, unless the thread that trains
/// finds it too and ends the job itself within a few seconds: its message says more.
class DeviceMonitor {
 public:
  /// \param check throws an Error when the communicator has failed
  DeviceMonitor(at::Device device, std::function<void()> check);
  ~DeviceMonitor();
  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;

  /// Keeps `guard` until the GPU has passed `done`, which is recorded after the operation, outside graph capture.
  void watch(std::shared_ptr<at::cuda::CUDAEvent> done, std::unique_ptr<Watchdog::Guard> guard);

 private:
  struct Open {
    std::shared_ptr<at::cuda::CUDAEvent> done;
    std::unique_ptr<Watchdog::Guard> guard;
  };
  void run();
  /// Forgets what the GPU has passed. Returns what is wrong.
  std::optional<Error> look();

  at::Device device_;
  std::function<void()> check_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Open> open_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace multicard
