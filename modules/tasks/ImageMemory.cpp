// The memory that training on images takes.

#include <algorithm>

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "device/AllocationRecorder.hpp"
#include "tasks/ImageNetwork.hpp"
#include "tasks/ImageTask.hpp"

namespace multicard {

namespace {

/// Takes the network out of the company of other ranks and gives it its running statistics back at the end. cuDNN does
/// not try its algorithms meanwhile: those for a few rows are not those of a step.
class Alone {
 public:
  explicit Alone(Network& network)
      : network_(network),
        reducer_(network.statistics_reducer()),
        tries_algorithms_(at::globalContext().benchmarkCuDNN()) {
    at::globalContext().setBenchmarkCuDNN(false);
    network_.set_statistics_reducer(nullptr);
    for (const NamedTensor& buffer : network_.buffers())
      before_.push_back(buffer.tensor.clone());
  }
  ~Alone() {
    const at::NoGradGuard no_grad;
    const NamedTensors buffers = network_.buffers();
    for (std::size_t i = 0; i < before_.size(); ++i)
      at::Tensor(buffers[i].tensor).copy_(before_[i]);
    network_.set_statistics_reducer(reducer_);
    at::globalContext().setBenchmarkCuDNN(tries_algorithms_);
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  Network& network_;
  StatisticsReducer* reducer_;
  bool tries_algorithms_;
  std::vector<at::Tensor> before_;
};

}  // namespace

void ImageTask::add_memory(MemoryNeed& need, std::int64_t rows, std::int64_t rows_read) {
  need.loader += train_.kept_bytes() + (test_ ? test_->kept_bytes() : 0);
  need.loader += loader_bytes(train_loader_options(), rows_read);
  const ImageSetInfo& set = train_.info();
  const std::int64_t most = std::max(rows, rows_read), pixels = 3 * options_.data.image_size * options_.data.image_size;
  const std::int64_t finished = most * pixels * static_cast<std::int64_t>(c10::elementSize(master_type(precision_)));
  const std::int64_t uploaded = device_input_ ? most * set.height * set.width * set.channels : finished;
  if (device_.is_cuda()) need.batches += kUploaded * uploaded;
  if (!device_input_) return;
  need.batches += finished;
  need.activations = most * device_input_->bytes_per_row() - finished;  // before forward
}

std::int64_t ImageTask::work_bytes(std::int64_t rows, const std::function<void(const at::Tensor&)>& backward) {
  if (!measured_work_) measured_work_ = measure_work(backward);
  return measured_work_->peak(rows * options_.data.image_size * options_.data.image_size);
}

MeasuredPair ImageTask::measure_work(const std::function<void(const at::Tensor&)>& backward) {
  // Three rows of large images, or of a large network, might not fit themselves.
  constexpr std::int64_t kLargest = 512, kSmallest = 64;
  const Alone alone(*network_);
  for (std::int64_t size = std::min<std::int64_t>(options_.data.image_size, kLargest);; size /= 2)
    try {
      return measure_work_by(size, backward);
    } catch (const c10::OutOfMemoryError&) {
      if (size / 2 < kSmallest) throw;
    }
}

MeasuredPair ImageTask::measure_work_by(std::int64_t size, const std::function<void(const at::Tensor&)>& backward) {
  const std::int64_t pixels = size * size;
  const SizedWork work = [&](std::int64_t number) {
    Batch batch;
    batch.num_rows = batch.global_rows = number / pixels;
    batch.inputs =
        at::zeros({batch.num_rows, 3, size, size}, at::TensorOptions().dtype(master_type(precision_)).device(device_))
            .contiguous(memory_format(options_));
    batch.targets = at::zeros({batch.num_rows}, at::TensorOptions().dtype(at::kLong).device(device_));
    return [this, batch, &backward] { backward(forward(batch).value); };
  };
  return measured_pair(device_, work, {2 * pixels, 3 * pixels});
}

}  // namespace multicard
