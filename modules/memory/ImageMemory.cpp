#include "memory/ImageMemory.hpp"

#include <algorithm>

#include "dist/ImaginedRanks.hpp"
#include "memory/MeasuredGradients.hpp"
#include "memory/RankMemory.hpp"
#include "memory/SplitState.hpp"
#include "tasks/images/ImageNetwork.hpp"
#include "tasks/images/ImageTask.hpp"
#include "train/Optimizer.hpp"

namespace multicard {

ImageMemory::ImageMemory(const RunOptions& options, const ImageDataSource& training, at::Device device, int num_ranks)
    : options_(options),
      training_(training),
      device_(device),
      num_ranks_(num_ranks),
      before_(allocated_bytes(device)) {}

ImageClassifier ImageMemory::classifier(at::Device device) const {
  return {options_, num_classes_of(options_, training_.shards().info()), device};
}

bool ImageMemory::can(Shard shard) const {
  return !splits_weights(shard) || !classifier(at::kCPU).network().block_weights().empty();
}

// What libraries keep once they have computed belongs to it, and stays for the next network that is measured.
MemoryEstimate ImageMemory::with(std::int64_t rows, const ShardCandidate& split) const {
  ImaginedRanks others(split.num_ranks, device_);
  ImageClassifier model = classifier(device_);
  if (splits_weights(split.shard)) model.split({&others});
  const NamedTensors whole = make_gradients(model);
  SplitParameters* const parts = model.split_parameters();

  MemoryEstimate estimate;
  estimate.parameters = estimate.gradients = bytes_of(whole);
  if (parts != nullptr) {
    estimate.parameters += parts->value_bytes();
    estimate.gradients += parts->gradient_bytes();
  }
  estimate.frozen = model.frozen().weights;
  const StageBytes work = model.activation_bytes(training_.largest_part(rows, {}), measured_backward(model));
  estimate.other = std::max<std::int64_t>(0, allocated_bytes(device_) - before_ - estimate.on_device());
  add_state(estimate, split, model.parameters(), whole);
  if (options_.run.ema_decay > 0) estimate.average = bytes_of(model.network().state());
  add_batches(estimate);
  if (work.total() > estimate.activations) estimate.set_work(device_.is_cuda() ? with_rounding(work) : work);
  return estimate;
}

/// Of the optimizer and of communication. \param whole those of the parameters that each rank has whole
void ImageMemory::add_state(MemoryEstimate& estimate, const ShardCandidate& split, const NamedTensors& parameters,
                            const NamedTensors& whole) const {
  constexpr std::int64_t kDimensions = 4;  // of convolutions
  const SummingRanks ranks{num_ranks_, device_.is_cuda(), device_.is_cuda() ? kNcclBucketBytes : kBucketBytes};
  estimate.optimizer = optimizer_bytes(options_.optimizer, parameters);
  estimate.communication = communication_bytes(tensors_of(whole), options_.parallel, ranks);
  estimate.compression = compression_bytes(tensors_of(whole), compression_options(options_));
  if (device_.is_cpu() && options_.run.keep_checkpoints > 0)
    estimate.copies = bytes_of(parameters) + estimate.optimizer + estimate.compression;
  if (split.shard == Shard::none) return;
  const std::int64_t in_parts = bytes_of(parameters) - bytes_of(whole), state = estimate.optimizer;
  split_state(estimate, {split.num_ranks, in_parts, bytes_of(whole), largest_of(whole, kDimensions),
                         bucket_bytes(options_.parallel, ranks)});
  // Rank 0 gathers what is in another order than files, into memory of its own, and copies it.
  if (estimate.copies > 0 && memory_format(options_) == at::MemoryFormat::ChannelsLast)
    estimate.copies = bytes_of(whole) + 2 * (in_parts + state) + estimate.compression;
}

void ImageMemory::add_batches(MemoryEstimate& estimate) const {
  const std::int64_t global = options_.run.batch_over(num_ranks_);
  const std::int64_t own = (global + num_ranks_ - 1) / num_ranks_;
  const InputMemory input = training_.memory(own, own);
  estimate.loader = device_.is_cuda() ? 0 : input.host + input.kept;  // the question is about the device's memory
  estimate.batches = input.device;
  estimate.activations = input.before_forward;
}

}  // namespace multicard
