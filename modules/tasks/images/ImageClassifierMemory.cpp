// The memory that training on images takes.

#include <algorithm>

#include <ATen/Context.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "device/AllocationRecorder.hpp"
#include "device/Precision.hpp"
#include "tasks/images/ImageClassifier.hpp"
#include "tasks/images/ImageNetwork.hpp"

namespace multicard {

namespace {

/// Detaches the network from synchronised statistics and gives it its running statistics back at the end. cuDNN does
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

// The state in files less what is trained or a buffer: the parameters that model.freeze has taken out.
FrozenBytes ImageClassifier::frozen() const {
  return {bytes_of(network_->state()) - bytes_of(network_->parameters()) - bytes_of(network_->buffers())};
}

StageBytes ImageClassifier::activation_bytes(const PartShape& part, const Backward& backward) {
  if (!measured_) measured_ = measure_activations(backward);
  return measured_->at_peak({part.size});
}

MeasuredPair ImageClassifier::measure_activations(const Backward& backward) {
  // Three rows of large images, or of a large network, might not fit themselves.
  constexpr std::int64_t kLargest = 512, kSmallest = 64;
  const Alone alone(*network_);
  for (std::int64_t size = std::min<std::int64_t>(options_.data.image_size, kLargest);; size /= 2)
    try {
      return measure_activations(size, backward);
    } catch (const c10::OutOfMemoryError&) {
      if (split_ || size / 2 < kSmallest) throw;  // ranks that gather for each other make the same passes
    }
}

// The measured size counts pixels, not rows: after a retreat to smaller images the line is still that of the deck's
// rows, because activations of a convolutional network grow with pixels.
MeasuredPair ImageClassifier::measure_activations(std::int64_t size, const Backward& backward) {
  const std::int64_t pixels = size * size;
  const SizedWork work = [&](std::int64_t number) {
    Batch batch;
    batch.num_rows = batch.global_rows = number / pixels;
    batch.inputs =
        at::zeros({batch.num_rows, 3, size, size}, at::TensorOptions().dtype(master_type(precision_)).device(device_))
            .contiguous(memory_format(options_));
    batch.targets = at::zeros({batch.num_rows}, at::TensorOptions().dtype(at::kLong).device(device_));
    return [this, batch, &backward] {
      const Loss loss = forward(batch);
      const StageOfWork stage(WorkStage::backward);
      backward(loss.value);
    };
  };
  return measured_pair(device_, work, {2 * pixels, 3 * pixels});
}

}  // namespace multicard
