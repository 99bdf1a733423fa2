#include <deque>
#include <stdexcept>

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/ops/empty_like.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "device/DeviceUploader.hpp"

namespace multicard {

namespace {

struct Upload {
  std::vector<at::Tensor> host, device;
  at::cuda::CUDAEvent done;
};

class DeviceUploader : public BatchUploader {
 public:
  explicit DeviceUploader(at::Device device)
      : device_(device), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index())) {}

  void start(std::vector<at::Tensor> batch) override {
    forget_finished();
    Upload& upload = started_.emplace_back();
    const c10::cuda::CUDAStreamGuard on(stream_);
    for (const at::Tensor& tensor : batch)
      upload.device.push_back(tensor.defined() ? copy(tensor) : at::Tensor());
    // Kept until the copy is done: the copy reads pinned memory after this call has returned.
    upload.host = std::move(batch);
    upload.done.record(stream_);
  }

  std::vector<at::Tensor> take() override {
    if (started_.empty()) throw std::logic_error("BatchUploader::take without start");
    taken_.push_back(std::move(started_.front()));
    started_.pop_front();
    Upload& upload = taken_.back();
    const c10::cuda::CUDAStream compute = c10::cuda::getCurrentCUDAStream(device_.index());
    upload.done.block(compute);
    // The memory belongs to the copy stream's pool: it may be reused there only when the compute stream has passed.
    for (const at::Tensor& tensor : upload.device)
      if (tensor.defined()) tensor.record_stream(compute);
    return std::move(upload.device);
  }

  std::size_t num_started() const override { return started_.size(); }
  std::int64_t bytes_copied() const override { return bytes_copied_; }

 private:
  at::Tensor copy(const at::Tensor& host) {
    at::Tensor there = at::empty_like(host, host.options().device(device_).pinned_memory(false));
    there.copy_(host, /*non_blocking=*/true);
    bytes_copied_ += static_cast<std::int64_t>(host.nbytes());
    return there;
  }

  /// Host memory of a batch that was taken must live until its copy is done.
  void forget_finished() {
    // One stream, so the copies end in the order in which they began.
    while (!taken_.empty() && taken_.front().done.query())
      taken_.pop_front();
  }

  at::Device device_;
  c10::cuda::CUDAStream stream_;
  std::deque<Upload> started_, taken_;
  std::int64_t bytes_copied_ = 0;
};

}  // namespace

std::unique_ptr<BatchUploader> make_device_uploader(at::Device device) {
  return std::make_unique<DeviceUploader>(device);
}

}  // namespace multicard
