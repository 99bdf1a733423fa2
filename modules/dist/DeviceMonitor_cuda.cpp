#include <chrono>
#include <exception>

#include <c10/cuda/CUDAFunctions.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "comm/Mpi.hpp"
#include "dist/DeviceMonitor.hpp"

namespace multicard {

namespace {

constexpr std::chrono::milliseconds kInterval{100};

}  // namespace

DeviceMonitor::DeviceMonitor(at::Device device, Watchdog* watchdog, std::function<void()> check)
    : device_(device), watchdog_(watchdog), check_(std::move(check)), thread_([this] { run(); }) {}

DeviceMonitor::~DeviceMonitor() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void DeviceMonitor::watch(const c10::cuda::CUDAStream& stream, const char* operation) {
  Open open;
  open.done.record(stream);
  open.guard = std::make_unique<Watchdog::Guard>(watchdog_, operation);
  const std::lock_guard lock(mutex_);
  open_.push_back(std::move(open));
}

bool DeviceMonitor::is_idle() {
  const std::lock_guard lock(mutex_);
  forget_finished();
  return open_.empty();
}

void DeviceMonitor::forget_finished() {
  while (!open_.empty() && open_.front().done.query())
    open_.pop_front();
}

void DeviceMonitor::run() {
  c10::cuda::set_device(device_.index());
  std::unique_lock lock(mutex_);
  while (!ending_) {
    wake_.wait_for(lock, kInterval);
    try {
      forget_finished();
      check_();
    } catch (const std::exception& error) {
      log_local_error(error.what());
      abort_job(ExitCode::communication);
    }
  }
}

}  // namespace multicard
