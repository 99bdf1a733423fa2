#include <deque>
#include <stdexcept>

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>

#include "device/DeviceReadback.hpp"

namespace multicard {

namespace {

struct Slot {
  std::vector<at::Tensor> host;  ///< pinned, since a copy to pageable memory stops the host
  /// Whoever waits sleeps: the processor belongs to the input pipeline, and the device has other work meanwhile.
  at::cuda::CUDAEvent copied{cudaEventDisableTiming | cudaEventBlockingSync};
};

/// Copies `values` into `host`, which is used again if it has room for just that.
void copy_to_host(const at::Tensor& values, at::Tensor& host) {
  const bool fits = host.defined() && host.sizes() == values.sizes() && host.scalar_type() == values.scalar_type();
  if (!fits) host = at::empty(values.sizes(), at::TensorOptions().dtype(values.scalar_type()).pinned_memory(true));
  host.copy_(values, /*non_blocking=*/true);
}

/// Slots are used again: pinned memory and events cost far more to make than to use.
class DeviceReadback : public Readback {
 public:
  explicit DeviceReadback(at::Device device) : device_(device) {}

  void start(const std::vector<at::Tensor>& values) override {
    Slot slot = take_slot();
    slot.host.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      copy_to_host(values[i].detach(), slot.host[i]);
    // After the copies on the stream that they are on: take() waits for them, not for what is queued afterwards.
    slot.copied.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    started_.push_back(std::move(slot));
  }

  std::vector<double> take() override {
    if (started_.empty()) throw std::logic_error("Readback::take without start");
    Slot slot = std::move(started_.front());
    started_.pop_front();
    slot.copied.synchronize();
    std::vector<double> values = elements_of(slot.host);
    free_.push_back(std::move(slot));
    return values;
  }

  std::size_t num_started() const override { return started_.size(); }

 private:
  Slot take_slot() {
    if (free_.empty()) return {};
    Slot slot = std::move(free_.back());
    free_.pop_back();
    return slot;
  }

  at::Device device_;
  std::deque<Slot> started_;
  std::vector<Slot> free_;
};

}  // namespace

std::unique_ptr<Readback> make_device_readback(at::Device device) {
  return std::make_unique<DeviceReadback>(device);
}

}  // namespace multicard
