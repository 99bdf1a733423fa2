#include "memory/RankMemory.hpp"

#include <algorithm>

#include "base/Blocks.hpp"
#include "base/System.hpp"
#include "device/AllocationRecorder.hpp"
#include "device/HostTensors.hpp"
#include "device/Memory.hpp"
#include "generation/GenerationEvaluation.hpp"
#include "train/ExchangeTrials.hpp"
#include "train/Optimizer.hpp"
#include "train/StepStatus.hpp"

namespace multicard {

std::int64_t allocated_bytes(at::Device device) {
  return device.is_cuda() ? device_memory(device).allocated : host_tensor_memory().allocated;
}

std::int64_t bucket_bytes(const ExchangeOptions& options, const SummingRanks& ranks) {
  if (options.measures_bucket) return ExchangeTrials::kLargestBucket;
  return options.bucket_mb ? static_cast<std::int64_t>(*options.bucket_mb * 1e6) : ranks.bucket_bytes;
}

// In elements of the largest bucket, n. One rank rounds a bucket of 16 bits: 2n bytes. NCCL with N ranks holds the
// rounded bucket and what the other ranks send of it, 2n each, and this rank's float32 sum of its part, 4n / N.
std::int64_t communication_bytes(const std::vector<at::Tensor>& gradients, const ExchangeOptions& options,
                                 const SummingRanks& ranks) {
  constexpr std::int64_t kMostPadding = 64;  // elements between two gradients of a bucket
  std::int64_t largest = 0, all = 0;
  for (const at::Tensor& gradient : gradients) {
    if (gradient.scalar_type() != at::kFloat) continue;
    largest = std::max(largest, gradient.numel());
    all += gradient.numel() + kMostPadding;
  }
  if ((options.gradient_dtype == CommDtype::same && !options.measures_dtype) || largest == 0) return 0;
  largest = std::max(largest, std::min(all, bucket_bytes(options, ranks) / std::int64_t{sizeof(float)}));
  if (ranks.num_ranks == 1) return 2 * largest;
  return ranks.on_gpu ? 2 * 2 * largest + 4 * largest / ranks.num_ranks : 0;
}

CompressionOptions compression_options(const RunOptions& options) {
  return {options.parallel.powersgd_rank, options.parallel.powersgd_start_step, options.precision == Precision::fp16};
}

/// Of what this rank writes of a checkpoint.
void RankMemory::add_copies(MemoryEstimate& estimate) const {
  const bool is_root = setup_.communicator.is_root();
  for (const CheckpointPart& part : setup_.parts()) {
    // Of what is split the root has pieces, unless it is gathered, into memory of its own.
    const std::int64_t of_split = part.in_pieces ? 0 : 2;
    for (const auto& [name, tensor] : part.tensors)
      if (is_root)
        estimate.whole_copies += static_cast<std::int64_t>(tensor.nbytes()) * (tensor.is_meta() ? of_split : 1);
    for (const TensorPiece& piece : part.pieces)
      estimate.copies += static_cast<std::int64_t>(piece.values.nbytes());
  }
  estimate.copies += estimate.whole_copies;
}

MemoryEstimate RankMemory::lasting() const {
  const std::int64_t num_rows = rows();
  MemoryEstimate estimate;
  const NamedTensors parameters = setup_.model().parameters();
  estimate.parameters = estimate.gradients = bytes_of(parameters);
  if (SplitParameters* const split = setup_.model().split_parameters()) {
    estimate.parameters += split->value_bytes() - split->whole_bytes();
    estimate.gradients += split->gradient_bytes() - split->whole_bytes();
  }
  estimate.optimizer = setup_.strategy->optimizer_bytes();
  const std::int64_t averaged = setup_.average ? bytes_of(setup_.average->state()) : 0;
  estimate.average = averaged;
  const Reading reading = setup_.strategy->reading();
  const DataSource& training = setup_.data();
  const DataSource* test = setup_.test_data();
  const std::int64_t rows_read = reading == Reading::none      ? 0
                                 : reading == Reading::sharded ? num_rows
                                                               : training.rows_in(0);
  const InputMemory input = training.memory(num_rows, rows_read);
  estimate.loader = input.host + input.kept + (test ? test->memory(0, 0).kept : 0);
  estimate.batches = input.device;
  estimate.activations = input.before_forward;
  const FrozenBytes frozen = setup_.task->measured_model().frozen();
  estimate.frozen = frozen.weights;
  estimate.reference = frozen.reference;
  if (setup_.options.run.keep_checkpoints > 0) add_copies(estimate);
  // What the device holds beyond the known tensors: batch-norm statistics, tables of angles, handles and workspaces.
  estimate.compression = compression_bytes(setup_.strategy->gradients(), compression_options(setup_.options));
  const std::int64_t known =
      estimate.parameters + frozen.total() + estimate.gradients + estimate.optimizer + averaged + estimate.compression;
  estimate.other = std::max<std::int64_t>(0, allocated_bytes(setup_.device().device) - known);
  estimate.communication = communication_bytes(
      setup_.strategy->gradients(), setup_.options.parallel,
      {setup_.communicator.size(), setup_.device().gpu.has_value(), setup_.collectives->bucket_bytes()});
  return estimate;
}

/// Norm and clipping of gradients, which are zeroed before a step.
/// prepare_update() changes gradients alone, and neither weights nor the optimizer's state: the trial leaves no trace.
std::int64_t RankMemory::update_bytes() {
  if (update_bytes_) return *update_bytes_;
  const StepStatus status(setup_.device().device);
  const AllocationRecorder recorder(setup_.device().device);
  setup_.strategy->prepare_update(setup_.scaler ? &*setup_.scaler : nullptr, status);
  return update_bytes_.emplace(recorder.trace().peak());
}

std::int64_t RankMemory::answer_bytes() const {
  const GenerationEvaluation* asked = setup_.task->data().questions;
  if (asked == nullptr) return 0;
  StageBytes bytes;
  bytes[WorkStage::forward] = asked->answer_bytes();
  return (setup_.device().gpu ? with_rounding(bytes) : bytes).total();
}

std::int64_t RankMemory::evaluation_bytes(std::int64_t at_once) {
  const DataSource* test = setup_.test_data();
  if (test == nullptr || !setup_.options.evaluate.scores_test_data()) return 0;
  const int rank = setup_.communicator.rank(), num_ranks = setup_.communicator.size();
  const std::int64_t own = block_of(test->rows_in(0), rank, num_ranks).count;
  const std::int64_t limit = at_once < rows() ? at_once : setup_.options.run.micro_batch.value_or(own);
  const std::int64_t part = std::min(own, std::max<std::int64_t>(1, limit));
  MeasuredModel& model = setup_.task->measured_model();
  if (part == 0) {
    // Where weights are split over ranks, the pass that is measured is one of all of them.
    if (setup_.gathers_weights()) model.evaluation_bytes({});
    return 0;
  }
  StageBytes work =
      model.evaluation_bytes(test->largest_part(part, {rank, num_ranks, 0, test->steps_per_epoch(), Reading::sharded}));
  if (work.total() == 0) return 0;
  if (setup_.device().gpu) work = with_rounding(work);
  const InputMemory input = test->memory(own, own);
  return work.total() + (setup_.device().gpu ? input.device : input.host);
}

// Never the last micro-batch: that one would start the all-reduce of full buckets, on this rank alone. Where gradients
// are split, all ranks make these passes, and no sum stays under way.
Backward RankMemory::backward() {
  return [this](const at::Tensor& loss) {
    setup_.strategy->backward(loss, /*is_last=*/false);
    if (SplitParameters* const split = setup_.model().split_parameters()) split->zero_gradients();
  };
}

/// Finishing a batch, a pass over a part of it, the update, evaluation and answers follow each other: the largest
/// counts.
/// Each of them is counted only by what it exceeds the ones before, so that the sum of the parts is the largest of
/// them.
MemoryEstimate RankMemory::with_work(MemoryEstimate estimate, StageBytes work, std::int64_t evaluation) {
  if (const std::int64_t update = update_bytes(); update > work.total()) {
    work = {};
    work[WorkStage::backward] = update;
  }
  if (setup_.device().gpu) work = with_rounding(work);
  if (work.total() >= estimate.activations) estimate.set_work(work);
  estimate.evaluation = estimate.answers = 0;
  estimate.evaluation = std::max<std::int64_t>(0, evaluation - estimate.work());
  estimate.answers = std::max<std::int64_t>(0, answer_bytes() - estimate.work());
  return estimate;
}

// Where weights are split over ranks, the passes that are measured are those of all of them, with rows or without.
StageBytes RankMemory::pass_bytes(std::int64_t at_once) {
  if (at_once == 0 && !setup_.gathers_weights()) return {};
  const StageBytes bytes =
      setup_.task->measured_model().activation_bytes(part(std::max<std::int64_t>(1, at_once)), backward());
  return at_once > 0 ? bytes : StageBytes{};
}

void RankMemory::measure_passes() {
  answer_bytes();  // before the rest, which counts what libraries and positions keep
  evaluation_bytes(at_once());
  pass_bytes(at_once());
}

MemoryEstimate RankMemory::with(std::int64_t at_once) {
  answer_bytes();  // as measure_passes()
  const std::int64_t evaluation = evaluation_bytes(at_once);
  const StageBytes work = pass_bytes(at_once);
  return with_work(lasting(), work, evaluation);  // after the work, which makes libraries allocate what they keep
}

std::optional<std::int64_t> RankMemory::switched_total(MemoryEstimate estimate, std::int64_t at_once) {
  const auto work = setup_.task->measured_model().switched_activation_bytes(part(at_once), backward());
  if (!work) return std::nullopt;
  estimate.set_work({});
  return needed(with_work(estimate, *work, evaluation_bytes(at_once)));
}

/// Ranks that share a GPU share what the driver has left, and each keeps what it has taken. Ranks of a node share its
/// memory, of which the copies are taken off first.
/// On a GPU what the allocator has reserved is this rank's already; the driver knows only what is left for all
/// processes. On CPUs what tensors hold now is added, because the estimate counts them again. The root's copies of
/// tensors that are not split are its alone: they are not divided by the number of ranks.
std::int64_t RankMemory::available(const MemoryEstimate& estimate) const {
  const DeviceChoice& device = setup_.device();
  if (device.gpu) return device_memory(device.device).reserved + free_device_bytes(device.device) / device.num_sharing;
  const std::int64_t free = available_memory_bytes() - estimate.whole_copies;
  return free / setup_.context.topology().local_size + estimate.whole_copies + host_tensor_memory().allocated;
}

}  // namespace multicard
