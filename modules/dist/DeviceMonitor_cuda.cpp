#include <chrono>

#include <c10/cuda/CUDAFunctions.h>

#include "base/Log.hpp"
#include "base/Thread.hpp"
#include "comm/Mpi.hpp"
#include "device/DeviceError.hpp"
#include "dist/DeviceMonitor.hpp"

namespace multicard {

namespace {

constexpr std::chrono::milliseconds kInterval{100};
/// For the thread that trains, and for the message of the rank where the trouble began.
constexpr std::chrono::seconds kGracePeriod{3};

}  // namespace

DeviceMonitor::DeviceMonitor(at::Device device, std::function<void()> check)
    : device_(device),
      check_(std::move(check)),
      thread_(start_thread("the monitor of a GPU", "gpu-monitor", [this] { run(); })) {}

DeviceMonitor::~DeviceMonitor() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void DeviceMonitor::watch(std::shared_ptr<at::cuda::CUDAEvent> done, std::unique_ptr<Watchdog::Guard> guard) {
  const std::lock_guard lock(mutex_);
  open_.push_back({std::move(done), std::move(guard)});
}

std::optional<Error> DeviceMonitor::look() {
  try {
    // A thread begins on GPU 0, where this rank may have no business. Events are passed in the order recorded, because
    // all operations are on one stream.
    c10::cuda::set_device(device_.index());
    while (!open_.empty() && open_.front().done->query())
      open_.pop_front();
    check_();
  } catch (const std::exception& error) {
    return any_error(error);
  }
  return std::nullopt;
}

void DeviceMonitor::run() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    wake_.wait_for(lock, kInterval);
    const std::optional<Error> found = look();
    // The wait lets go of the mutex, so that the thread that trains can still hand over guards, fail and destroy this.
    if (!found || wake_.wait_for(lock, kGracePeriod, [this] { return ending_; })) continue;
    log_local_error(found->what());
    abort_job(found->code());
  }
}

}  // namespace multicard
