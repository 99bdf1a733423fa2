#include "device/Readback.hpp"

#include <deque>
#include <stdexcept>

#include "device/DeviceReadback.hpp"

namespace multicard {

namespace {

/// For the CPU: the values are there when they are asked for.
class HostReadback : public Readback {
 public:
  void start(const std::vector<at::Tensor>& values) override { started_.push_back(elements_of(values)); }
  std::vector<double> take() override {
    if (started_.empty()) throw std::logic_error("Readback::take without start");
    std::vector<double> values = std::move(started_.front());
    started_.pop_front();
    return values;
  }
  std::size_t num_started() const override { return started_.size(); }

 private:
  std::deque<std::vector<double>> started_;
};

}  // namespace

std::unique_ptr<Readback> make_readback(at::Device device) {
  if (device.is_cuda()) return make_device_readback(device);
  return std::make_unique<HostReadback>();
}

std::vector<double> elements_of(const std::vector<at::Tensor>& tensors) {
  std::vector<double> elements;
  for (const at::Tensor& tensor : tensors) {
    // float64 holds every value of the types that are read back, int64 counts below 2^53 included.
    const at::Tensor wide = tensor.detach().to(at::kDouble).contiguous();
    const auto* first = wide.const_data_ptr<double>();
    elements.insert(elements.end(), first, first + wide.numel());
  }
  return elements;
}

BatchSums::BatchSums(at::Device device, std::size_t num_values)
    : readback_(make_readback(device)), sums_(num_values, 0.0) {}

void BatchSums::add(const at::Tensor& values) {
  // One batch late: the values of the last but one are read while the device has the last in its queue.
  readback_->start({values});
  take_all_but(1);
}

const std::vector<double>& BatchSums::finish() {
  take_all_but(0);
  return sums_;
}

void BatchSums::take_all_but(std::size_t newest) {
  while (readback_->num_started() > newest) {
    const std::vector<double> values = readback_->take();
    for (std::size_t i = 0; i < sums_.size(); ++i)
      sums_[i] += values.at(i);
  }
}

}  // namespace multicard
