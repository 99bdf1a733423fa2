#include "device/BatchUploader.hpp"

#include <deque>
#include <stdexcept>

#include "device/DeviceUploader.hpp"

namespace multicard {

namespace {

/// For the CPU: what goes in comes out.
class HandOn : public BatchUploader {
 public:
  void start(std::vector<at::Tensor> batch) override { started_.push_back(std::move(batch)); }
  std::vector<at::Tensor> take() override {
    if (started_.empty()) throw std::logic_error("BatchUploader::take without start");
    std::vector<at::Tensor> batch = std::move(started_.front());
    started_.pop_front();
    return batch;
  }
  std::size_t num_started() const override { return started_.size(); }
  std::int64_t bytes_copied() const override { return 0; }

 private:
  std::deque<std::vector<at::Tensor>> started_;
};

}  // namespace

std::unique_ptr<BatchUploader> make_batch_uploader(at::Device device) {
  if (device.is_cuda()) return make_device_uploader(device);
  return std::make_unique<HandOn>();
}

}  // namespace multicard
