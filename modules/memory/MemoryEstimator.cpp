#include "memory/MemoryEstimator.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "device/DeviceError.hpp"
#include "device/HostTensors.hpp"
#include "device/Memory.hpp"
#include "memory/RankMemory.hpp"

namespace multicard {

namespace {

/// What does not even fit without a forward pass need not be measured, which takes seconds.
void check_lasting(const RankMemory& memory) {
  MemoryEstimate estimate = memory.lasting();
  estimate.set_work({});
  const std::int64_t bytes = memory.available(estimate);
  if (memory.needed(estimate) > bytes) throw out_of_memory_error(estimate, bytes, 0);
}

void check_fits(RankMemory& memory, MemoryEstimate estimate, const TrainingSetup& setup, MemoryGaps gaps) {
  const std::int64_t bytes = memory.available(estimate);
  const bool is_tight = setup.device().gpu && memory.needed_with_gaps(estimate) > bytes;
  if (is_tight && gaps == MemoryGaps::reserve) estimate.gaps = gaps_between(estimate.on_device());
  if (memory.needed(estimate) > bytes) {
    const auto fits = [&](std::int64_t number) { return memory.needed_with_gaps(memory.with(number)) <= bytes; };
    throw out_of_memory_error(estimate, bytes, largest_that_fits(memory.at_once() - 1, fits));
  }
  if (is_tight)
    log_warning(
        "little GPU memory is left over: fragmentation may make this run fail; "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True reduces it");
}

/// Runs `body`, whose work is that of a step, on this rank.
template <class Body>
auto with_device_errors(const RankMemory& memory, Body&& body) {
  try {
    return body();
  } catch (const c10::Error& error) {
    if (const auto found = device_error(error, " while the memory of a step was measured", memory.lasting().text()))
      throw *found;
    throw;
  }
}

/// After passes over few rows.
/// Peaks are reset too: they are recorded against the prediction, and trial passes are not part of the run.
void forget_trials(at::Device device) {
  release_cached_device_memory(device);  // of odd sizes
  reset_peak_device_memory(device);
  reset_peak_host_tensors();
}

MemoryEstimate estimate_of_rank(RankMemory& memory, TrainingSetup& setup, MemoryGaps gaps) {
  const MemoryEstimate estimate = with_device_errors(memory, [&] {
    const MemoryEstimate found = memory.with(memory.at_once());
    check_fits(memory, found, setup, gaps);
    return found;
  });
  forget_trials(setup.device().device);
  return estimate;
}

/// The place of the largest divisor that fits this rank; 0 where none does.
/// Place 0 is the divisor 1, which is tried even where it is predicted not to fit: there is nothing smaller to choose,
/// and estimate_memory() refuses the run afterwards with its reasons.
std::int64_t largest_fitting(RankMemory& memory, const std::vector<std::int64_t>& divisors) {
  return with_device_errors(memory, [&] {
    const auto fits = [&](std::int64_t number) {
      const MemoryEstimate estimate = memory.with(std::min(memory.rows(), divisors[static_cast<std::size_t>(number)]));
      return memory.needed_with_gaps(estimate) <= memory.available(estimate);
    };
    return largest_that_fits(static_cast<std::int64_t>(divisors.size()) - 1, fits);
  });
}

std::string bytes_text(std::int64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

}  // namespace

std::int64_t rows_at_once(const TrainingSetup& setup) {
  const std::int64_t most = setup.strategy->largest_shard(setup.data().rows_in(0));
  return std::min(most, setup.options.run.micro_batch.value_or(most));
}

MemoryEstimate estimate_memory(TrainingSetup& setup, MemoryGaps gaps) {
  RankMemory memory(setup);
  // By itself: where weights are split over ranks, the passes that follow are those of all of them.
  agreed(setup.communicator, [&] { check_lasting(memory); });
  agreed(setup.communicator, [&] { with_device_errors(memory, [&] { memory.measure_passes(); }); });
  return agreed(setup.communicator, [&] { return estimate_of_rank(memory, setup, gaps); });
}

// run.micro_batch is one number for all ranks: the smallest of what each of them can hold. The divisors are those of
// the largest shard, so that every rank has the same list and a place in it means the same.
std::string choose_micro_batch(TrainingSetup& setup) {
  const Communicator& communicator = setup.communicator;
  const std::int64_t share = setup.strategy->largest_shard(setup.data().rows_in(0));
  const std::vector<std::int64_t> divisors = divisors_of(share);
  RankMemory memory(setup);
  agreed(communicator, [&] { check_lasting(memory); });
  const std::int64_t mine = agreed(communicator, [&] { return largest_fitting(memory, divisors); });
  const auto place = static_cast<std::size_t>(communicator.allreduce(mine, ReduceOp::min));
  const std::int64_t chosen = divisors[place];
  const std::string what = fmt::format("{} of {} rows per rank", chosen, share);
  if (chosen == share) {
    setup.set_micro_batch(chosen);
    return what + ": all of them fit";
  }
  // In words of the rank that has least room for more; as it was tried, before evaluation has the chosen number, too.
  const std::int64_t next = std::min(memory.rows(), divisors[place + 1]);
  const MemoryEstimate estimate =
      agreed(communicator, [&] { return with_device_errors(memory, [&] { return memory.with(next); }); });
  setup.set_micro_batch(chosen);
  const std::int64_t room = memory.available(estimate), lack = memory.needed_with_gaps(estimate) - room;
  const std::int64_t most = communicator.allreduce(lack, ReduceOp::max);
  const int rank = communicator.allreduce(lack == most ? communicator.rank() : communicator.size(), ReduceOp::min);
  return fmt::format("{}: {} would take {} with room for gaps, {} are available", what, divisors[place + 1],
                     bytes_text(communicator.broadcast_value(memory.needed_with_gaps(estimate), rank)),
                     bytes_text(communicator.broadcast_value(room, rank)));
}

void record_memory(const MemoryEstimate& predicted, const TrainingSetup& setup, RankRecord& record) {
  record.memory["host_peak_bytes"] = peak_resident_bytes();
  const HostTensorMemory tensors = host_tensor_memory();
  record.memory["host_tensor_peak_bytes"] = tensors.peak;
  record.memory["host_tensor_mean_bytes"] = tensors.mean;
  if (setup.device().gpu) {
    const DeviceMemory memory = device_memory(setup.device().device);
    record.memory["device_peak_bytes"] = memory.peak_allocated;
    record.memory["device_reserved_bytes"] = memory.peak_reserved;
  }
  record.memory["model/parameters"] = predicted.parameters;
  record.memory["model/frozen"] = predicted.frozen + predicted.reference;
  record.memory["model/reference"] = predicted.reference;
  record.memory["model/gradients"] = predicted.gradients;
  record.memory["model/optimizer"] = predicted.optimizer;
  record.memory["model/activations"] = predicted.activations;
  record.memory["model/logits"] = predicted.logits;
  record.memory["model/workspace"] = predicted.workspace;
  if (predicted.evaluation > 0) record.memory["model/evaluation"] = predicted.evaluation;
  if (predicted.answers > 0) record.memory["model/answers"] = predicted.answers;
  record.memory["model/predicted_total"] = setup.device().gpu ? predicted.on_device() : predicted.total();
}

}  // namespace multicard
