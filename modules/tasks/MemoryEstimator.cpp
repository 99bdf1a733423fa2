#include "tasks/MemoryEstimator.hpp"

#include <algorithm>

#include "base/Blocks.hpp"
#include "base/Log.hpp"
#include "base/System.hpp"
#include "comm/Agreement.hpp"
#include "device/DeviceError.hpp"
#include "device/Memory.hpp"

namespace multicard {

namespace {

std::int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors)
    bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

/// Ranks that share a GPU share what the driver has left, and each keeps what it has taken. Ranks of a node share its
/// memory, of which the copies are taken off first.
std::int64_t available_bytes(const DeviceChoice& device, const MemoryEstimate& estimate, int ranks_of_node) {
  if (!device.gpu) return (available_memory_bytes() - estimate.copies) / ranks_of_node + estimate.copies;
  return device_memory(device.device).reserved + free_device_bytes(device.device) / device.num_sharing;
}

/// A GPU's allocator gives blocks of up to 1 MiB more than what is asked for; measured up to 2.2 %.
std::int64_t with_rounding(std::int64_t bytes) {
  return bytes + bytes / 32;
}

/// Where the device has memory of its own, only that counts.
std::int64_t needed(const MemoryEstimate& estimate, const DeviceChoice& device) {
  return device.gpu ? estimate.on_device() : estimate.total();
}

/// What must be kept free so that gaps between blocks do not end a run; measured up to 7 % of what is allocated.
std::int64_t gaps_between(std::int64_t bytes) {
  return bytes / 10;
}

/// One rank's estimate.
class MemoryEstimator {
 public:
  MemoryEstimator(TrainingSetup& setup, MemoryGaps gaps) : setup_(setup), gaps_(gaps) {}
  MemoryEstimate estimate();

 private:
  MemoryEstimate lasting_estimate(std::int64_t rows) const;
  std::int64_t rounded_sum_bytes(int num_ranks) const;
  MemoryEstimate estimate_for(std::int64_t rows, std::int64_t at_once);
  void check_lasting(MemoryEstimate estimate) const;
  void check_fits(MemoryEstimate estimate, std::int64_t rows, std::int64_t at_once);
  std::int64_t available(const MemoryEstimate& estimate) const {
    return available_bytes(setup_.device, estimate, setup_.topology.local_size);
  }

  TrainingSetup& setup_;
  const MemoryGaps gaps_;
};

/// All but what forward and backward take.
MemoryEstimate MemoryEstimator::lasting_estimate(std::int64_t rows) const {
  MemoryEstimate estimate;
  estimate.parameters = bytes_of(tensors_of(setup_.model().parameters()));
  estimate.gradients = bytes_of(setup_.strategy->gradients());
  estimate.optimizer = bytes_of(tensors_of(setup_.strategy->optimizer_state()));
  const std::int64_t averaged = setup_.average ? bytes_of(tensors_of(setup_.average->state())) : 0;
  estimate.average = 2 * averaged;  // one to keep, one while it is evaluated
  const Reading reading = setup_.strategy->reading();
  const DataSource& training = setup_.data();
  const DataSource* test = setup_.test_data();
  const std::int64_t rows_read = reading == Reading::none      ? 0
                                 : reading == Reading::sharded ? rows
                                                               : training.rows_in(0);
  const InputMemory input = training.memory(rows, rows_read);
  estimate.loader = input.host + input.kept + (test ? test->memory(0, 0).kept : 0);
  estimate.batches = input.device;
  estimate.activations = input.before_forward;
  estimate.frozen = setup_.model().frozen_bytes();
  if (setup_.communicator.is_root() && setup_.options.run.keep_checkpoints > 0)
    for (const CheckpointPart& part : setup_.parts())
      estimate.copies += bytes_of(tensors_of(part.tensors));
  const std::int64_t known = estimate.parameters + estimate.frozen + estimate.gradients + estimate.optimizer + averaged;
  estimate.other = std::max<std::int64_t>(0, device_memory(setup_.device.device).allocated - known);
  if (setup_.device.gpu && setup_.options.parallel.gradient_dtype != CommDtype::same)
    estimate.other += rounded_sum_bytes(setup_.communicator.size());
  return estimate;
}

/// Of a sum in 16 bits over NCCL: a bucket, the other ranks' parts of it, and a part in float32.
std::int64_t MemoryEstimator::rounded_sum_bytes(int num_ranks) const {
  std::int64_t largest = 0;
  for (const at::Tensor& gradient : setup_.strategy->gradients())
    largest = std::max(largest, gradient.numel());
  largest = std::max(largest, setup_.collectives->bucket_bytes() / 4);
  return 2 * 2 * largest + 4 * largest / num_ranks;
}

/// Of a rank that computes on `at_once` of its `rows` at a time.
MemoryEstimate MemoryEstimator::estimate_for(std::int64_t rows, std::int64_t at_once) {
  const auto backward = [&](const at::Tensor& loss) { setup_.strategy->backward(loss, /*is_last=*/false); };
  const std::int64_t work =
      at_once > 0 ? setup_.model().activation_bytes(at_once, setup_.data().largest_row(), backward) : 0;
  MemoryEstimate estimate = lasting_estimate(rows);  // after the work, which makes libraries allocate what they keep
  estimate.activations = std::max(estimate.activations, setup_.device.gpu ? with_rounding(work) : work);
  return estimate;
}

/// What does not even fit without a forward pass need not be measured, which takes seconds.
void MemoryEstimator::check_lasting(MemoryEstimate estimate) const {
  estimate.activations = 0;
  const std::int64_t bytes = available(estimate);
  if (needed(estimate, setup_.device) > bytes) throw out_of_memory_error(estimate, bytes, 0);
}

void MemoryEstimator::check_fits(MemoryEstimate estimate, std::int64_t rows, std::int64_t at_once) {
  const std::int64_t bytes = available(estimate);
  const auto with_gaps = [&](const MemoryEstimate& one) {
    const std::int64_t without = needed(one, setup_.device);
    return without + gaps_between(without);
  };
  const bool is_tight = setup_.device.gpu && with_gaps(estimate) > bytes;
  if (is_tight && gaps_ == MemoryGaps::reserve) estimate.gaps = gaps_between(estimate.on_device());
  if (needed(estimate, setup_.device) > bytes) {
    const auto fits = [&](std::int64_t number) { return with_gaps(estimate_for(rows, number)) <= bytes; };
    throw out_of_memory_error(estimate, bytes, largest_that_fits(at_once - 1, fits));
  }
  if (is_tight)
    log_warning(
        "little GPU memory is left over: fragmentation may make this run fail; "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True reduces it");
}

MemoryEstimate MemoryEstimator::estimate() {
  const std::int64_t rows =
      block_of(setup_.data().rows_in(0), setup_.communicator.rank(), setup_.communicator.size()).count;
  const std::int64_t at_once = std::min(rows, setup_.options.run.micro_batch.value_or(rows));
  check_lasting(lasting_estimate(rows));
  MemoryEstimate estimate;
  try {
    estimate = estimate_for(rows, at_once);
    check_fits(estimate, rows, at_once);
  } catch (const c10::Error& error) {
    if (const auto found =
            device_error(error, " while the memory of a step was measured", lasting_estimate(rows).text()))
      throw *found;
    throw;
  }
  release_cached_device_memory(setup_.device.device);  // of odd sizes
  reset_peak_device_memory(setup_.device.device);
  return estimate;
}

}  // namespace

MemoryEstimate estimate_memory(TrainingSetup& setup, MemoryGaps gaps) {
  return agreed(setup.communicator, [&] { return MemoryEstimator(setup, gaps).estimate(); });
}

void record_memory(const MemoryEstimate& predicted, const TrainingSetup& setup, RankRecord& record) {
  const DeviceMemory memory = device_memory(setup.device.device);
  record.memory["host_peak_bytes"] = peak_resident_bytes();
  record.memory["device_peak_bytes"] = memory.peak_allocated;
  record.memory["device_reserved_bytes"] = memory.peak_reserved;
  record.memory["model/parameters"] = predicted.parameters;
  record.memory["model/frozen"] = predicted.frozen;
  record.memory["model/gradients"] = predicted.gradients;
  record.memory["model/optimizer"] = predicted.optimizer;
  record.memory["model/activations"] = predicted.activations;
  record.memory["model/predicted_total"] = needed(predicted, setup.device);
}

}  // namespace multicard
