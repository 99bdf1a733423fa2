// The memory that a session will take.

#include <algorithm>

#include "base/Blocks.hpp"
#include "base/Log.hpp"
#include "base/System.hpp"
#include "device/DeviceError.hpp"
#include "device/Memory.hpp"
#include "tasks/Session.hpp"

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
std::int64_t available_bytes(const DeviceChoice& device, const MemoryNeed& need, int ranks_of_node) {
  if (!device.gpu) return (available_memory_bytes() - need.copies) / ranks_of_node + need.copies;
  return device_memory(device.device).reserved + free_device_bytes(device.device) / device.num_sharing;
}

/// A GPU's allocator gives blocks of up to 1 MiB more than what is asked for; measured up to 2.2 %.
std::int64_t with_rounding(std::int64_t bytes) {
  return bytes + bytes / 32;
}

/// Where the device has memory of its own, only that counts.
std::int64_t needed(const MemoryNeed& need, const DeviceChoice& device) {
  return device.gpu ? need.on_device() : need.total();
}

/// What must be available so that gaps between blocks do not end a run; measured up to 7 % of what is allocated.
std::int64_t with_gaps(std::int64_t bytes) {
  return bytes + bytes / 10;
}

}  // namespace

/// All but what forward and backward take.
MemoryNeed Session::lasting_need(std::int64_t rows) {
  MemoryNeed need;
  need.parameters = bytes_of(tensors_of(task_->model().parameters()));
  need.gradients = bytes_of(strategy_->gradients());
  need.optimizer = bytes_of(tensors_of(strategy_->optimizer_state()));
  const std::int64_t averaged = average_ ? bytes_of(tensors_of(average_->state())) : 0;
  need.average = 2 * averaged;  // one to keep, one while it is evaluated
  const Reading reading = strategy_->reading();
  const auto [training, test] = task_->data();
  const std::int64_t rows_read = reading == Reading::none      ? 0
                                 : reading == Reading::sharded ? rows
                                                               : training.rows_in(0);
  const InputMemory input = training.memory(rows, rows_read);
  need.loader = input.host + input.kept + (test ? test->memory(0, 0).kept : 0);
  need.batches = input.device;
  need.activations = input.before_forward;
  need.frozen = task_->model().frozen_bytes();
  if (communicator_.is_root() && options_.run.keep_checkpoints > 0)
    for (const CheckpointPart& part : checkpoint_parts())
      need.copies += bytes_of(tensors_of(part.tensors));
  const std::int64_t known = need.parameters + need.frozen + need.gradients + need.optimizer + averaged;
  need.other = std::max<std::int64_t>(0, device_memory(device_.device).allocated - known);
  if (device_.gpu && options_.parallel.gradient_dtype != "same") need.other += wire_bytes(communicator_.size());
  return need;
}

/// Of a sum in 16 bits over NCCL: a bucket, the other ranks' parts of it, and a part in float32.
std::int64_t Session::wire_bytes(int num_ranks) const {
  std::int64_t largest = 0;
  for (const at::Tensor& gradient : strategy_->gradients())
    largest = std::max(largest, gradient.numel());
  largest = std::max(largest, collectives_->bucket_bytes() / 4);
  return 2 * 2 * largest + 4 * largest / num_ranks;
}

/// Of a rank that computes on `at_once` of its `rows` at a time.
MemoryNeed Session::need_for(std::int64_t rows, std::int64_t at_once) {
  const auto backward = [&](const at::Tensor& loss) { strategy_->backward(loss, /*is_last=*/false); };
  const std::int64_t work =
      at_once > 0 ? task_->model().activation_bytes(at_once, training_data().largest_row(), backward) : 0;
  MemoryNeed need = lasting_need(rows);  // after the work, which makes libraries allocate what they keep
  need.activations = std::max(need.activations, device_.gpu ? with_rounding(work) : work);
  return need;
}

/// What does not even fit without a forward need not be measured, which takes seconds.
void Session::check_lasting(MemoryNeed need) const {
  need.activations = 0;
  const std::int64_t available = available_bytes(device_, need, topology_.local_size);
  if (needed(need, device_) > available) throw out_of_memory_error(need, available, 0);
}

void Session::check_fits(const MemoryNeed& need, std::int64_t rows, std::int64_t at_once) {
  const std::int64_t available = available_bytes(device_, need, topology_.local_size);
  if (needed(need, device_) > available) {
    const auto fits = [&](std::int64_t number) {
      return with_gaps(needed(need_for(rows, number), device_)) <= available;
    };
    throw out_of_memory_error(need, available, largest_that_fits(at_once - 1, fits));
  }
  if (device_.gpu && with_gaps(needed(need, device_)) > available)
    log_warning(
        "little of the GPU's memory is left over: gaps between its blocks may end this run; "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True leaves fewer");
}

MemoryNeed Session::predict_memory() {
  const std::int64_t rows = block_of(training_data().rows_in(0), communicator_.rank(), communicator_.size()).count;
  const std::int64_t at_once = std::min(rows, options_.run.micro_batch.value_or(rows));
  check_lasting(lasting_need(rows));
  MemoryNeed need;
  try {
    need = need_for(rows, at_once);
    check_fits(need, rows, at_once);
  } catch (const c10::Error& error) {
    if (const auto found = device_error(error, " while the memory of a step was measured", lasting_need(rows).text()))
      throw *found;
    throw;
  }
  release_cached_device_memory(device_.device);  // of odd sizes
  reset_peak_device_memory(device_.device);
  return need;
}

void Session::record_memory(RankRecord& record) const {
  const DeviceMemory memory = device_memory(device_.device);
  record.memory["host_peak_bytes"] = peak_resident_bytes();
  record.memory["device_peak_bytes"] = memory.peak_allocated;
  record.memory["device_reserved_bytes"] = memory.peak_reserved;
  record.memory["model/parameters"] = memory_need_.parameters;
  record.memory["model/frozen"] = memory_need_.frozen;
  record.memory["model/gradients"] = memory_need_.gradients;
  record.memory["model/optimizer"] = memory_need_.optimizer;
  record.memory["model/activations"] = memory_need_.activations;
  record.memory["model/predicted_total"] = needed(memory_need_, device_);
  record.memory["model/checkpoint_copies"] = checkpoints_.num_bytes();
}

}  // namespace multicard
