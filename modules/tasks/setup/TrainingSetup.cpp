#include "tasks/setup/TrainingSetup.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/NamedNumbers.hpp"
#include "base/System.hpp"
#include "comm/Agreement.hpp"
#include "device/DeviceError.hpp"
#include "device/HostTensors.hpp"
#include "device/Memory.hpp"
#include "tasks/setup/NormValues.hpp"
#include "tasks/setup/TaskFactory.hpp"

namespace multicard {

namespace {

// Names in trainer.json.
constexpr const char* kLossScale = "loss_scale";
constexpr const char* kScaleUpdates = "loss_scale_updates_since_change";

/// Batch-norm statistics are reduced like any other small sum.
class CollectiveStatistics final : public StatisticsReducer {
 public:
  explicit CollectiveStatistics(TensorCollectives& collectives) : collectives_(collectives) {}
  int num_replicas() const override { return collectives_.size(); }
  int replica() const override { return collectives_.rank(); }
  void all_reduce(at::Tensor& flat) override { collectives_.all_reduce(flat); }

 private:
  TensorCollectives& collectives_;
};

/// The rows of an update. \throws EnvironmentError on all ranks when they are fewer than the ranks
std::int64_t checked_batch(const RunOptions& options, const Communicator& communicator) {
  const std::int64_t batch = options.run.batch_over(communicator.size());
  if (batch < communicator.size())
    throw EnvironmentError(fmt::format("{} ranks cannot share a global batch of {} rows", communicator.size(), batch),
                           "every rank needs at least one row of a full batch",
                           "Start fewer ranks or raise run.global_batch.")
        .on_all_ranks();
  return batch;
}

at::Device device_of(const Model& model) {
  return model.parameters().front().tensor.device();
}

/// Of a run before this one.
void reset_peaks(at::Device device) {
  reset_peak_resident_bytes();
  release_cached_device_memory(device);
  reset_peak_device_memory(device);
  reset_peak_host_tensors();
}

/// \throws DataError when the state has a scale that is out of range, or half of it
void restore_scaler(LossScaler& scaler, const TrainingState& state) {
  const std::optional<double> scale = number_of(state.trainer.extra, kLossScale);
  if (!scale) return;  // of a run in another precision
  const std::optional<std::int64_t> updates = whole_number_of(state.trainer.extra, kScaleUpdates);
  if (!std::isfinite(*scale) || *scale <= 0 || !updates || *updates > LossScaler::kGrowthInterval)
    throw DataError(fmt::format("{} has a damaged trainer.json", state.source),
                    fmt::format("{} or {} is impossible", kLossScale, kScaleUpdates));
  scaler.restore(*scale, *updates);
}

}  // namespace

// Peaks are reset before anything is allocated. num_steps needs the data and the schedule needs num_steps, so that the
// schedule is made twice. Gradients are allocated (split_parameters, make_strategy) where ranks can still agree on an
// error: what the ranks of a node allocate together comes first each time. synchronise(), the first exchange of values,
// comes after. The moving average starts from the synchronised weights.
TrainingSetup::TrainingSetup(const RunOptions& run_options, const Communicator& ranks, TrainingParts reused)
    : options(run_options),
      communicator(ranks),
      context(options, communicator),
      global_batch(checked_batch(options, communicator)),
      schedule(options.schedule, options.optimizer.learning_rate, 0) {
  const RunContext::Current current(context);
  const at::Device own = device().device;
  reset_peaks(own);
  files_before = hdf5_totals();
  collectives = reused.collectives
                    ? std::move(reused.collectives)
                    : make_collectives(options.parallel.backend, communicator, own, options.parallel.hierarchy);
  shard_groups.emplace(options, communicator, context.topology(), *collectives);
  communication_before = shard_groups->totals();
  received_before = shard_groups->received();
  if (reused.model && (gathers_weights() || device_of(*reused.model) != own)) reused.model.reset();
  if (options.parallel.sync_batch_norm) statistics = std::make_unique<CollectiveStatistics>(*collectives);
  // Warnings about data and weights were logged where the run began.
  const LogRank log_rank(reused.is_known ? LogRank::kSilent : communicator.rank());
  task = make_task(options, communicator, {own, statistics.get(), shard_groups->ranks(), reused.model, reused.scan});
  check_norm_values(options, data().rows_in(0), communicator.size());
  num_steps = options.run.steps.value_or(options.run.epochs * steps_per_epoch());
  schedule = Schedule(options.schedule, options.optimizer.learning_rate, num_steps);
  with_agreed_memory([&] { model().split_parameters(); });
  with_agreed_memory([&] {
    strategy = make_strategy(options.parallel, options.optimizer, {model(), data(), *collectives},
                             options.precision == Precision::fp16 ? SkipsSteps::yes : SkipsSteps::no);
  });
  strategy->synchronise();
  with_agreed_memory([&] {
    if (options.precision == Precision::fp16) scaler.emplace(own);
    if (options.run.ema_decay > 0) average.emplace(task->model_part().tensors, options.run.ema_decay);
  });
}

void TrainingSetup::with_agreed_memory(const std::function<void()>& body) const {
  agreed(communicator, [&] { with_known_errors(body, MemoryUse::setup); });
}

// The last step of an epoch may have fewer rows, and so the steps of one epoch are added up.
std::int64_t TrainingSetup::rows_before(std::int64_t step) const {
  const std::int64_t per_epoch = steps_per_epoch();
  std::int64_t of_epoch = 0, rest = 0;
  for (std::int64_t i = 0; i < per_epoch; ++i) {
    of_epoch += data().rows_in(i);
    if (i < step % per_epoch) rest += data().rows_in(i);
  }
  return step / per_epoch * of_epoch + rest;
}

std::int64_t TrainingSetup::rows_of_rank() const {
  return block_of(data().rows_in(0), communicator.rank(), communicator.size()).count;
}

ReadPlan TrainingSetup::read_plan() const {
  return {communicator.rank(), communicator.size(), 0, num_steps, strategy->reading()};
}

void TrainingSetup::set_micro_batch(std::int64_t rows) {
  options.run.micro_batch = rows;
  check_norm_values(options, data().rows_in(0), communicator.size());
  task->measured_model().set_micro_batch(rows);
}

std::string TrainingSetup::backend_name() const {
  const std::string name = collectives->name();
  return name != "null" ? name : device().device.is_cuda() ? "nccl" : "mpi";
}

CheckpointParts TrainingSetup::parts() const {
  CheckpointParts parts{task->model_part()};
  parts.front().tensors = strategy->saved(std::move(parts.front().tensors));
  parts.front().pieces = strategy->parameter_pieces();
  parts.front().in_pieces = strategy->writes_pieces();
  if (strategy->updates())
    parts.push_back({kOptimizerFile, strategy->optimizer_state(), strategy->state_pieces(), strategy->writes_pieces()});
  if (average) parts.push_back({kAverageFile, average->state()});
  if (NamedTensors compression = strategy->compression_state(); !compression.empty())
    parts.push_back({kCompressionFile, std::move(compression)});
  return parts;
}

void TrainingSetup::prepare_to_write() {
  strategy->prepare_to_write();
  task->finish_identity();
}

TrainerState TrainingSetup::trainer_state(std::int64_t step, const std::string& deck) const {
  TrainerState state{step, rows_before(step), global_batch, deck};
  state.extra = data().identity();
  state.text = task->model_identity();
  state.text.merge(data().identity_texts());
  if (scaler) {
    state.extra[kLossScale] = scaler->value();
    state.extra[kScaleUpdates] = static_cast<double>(scaler->updates_since_change());
  }
  return state;
}

void TrainingSetup::load(const TrainingState& state) {
  const CheckpointPart trained = task->model_part();
  strategy->load_parameters(trained.tensors, tensors_in(state, trained.file));
  CheckpointParts others = parts();
  std::erase_if(others,
                [&](const CheckpointPart& part) { return part.file == kOptimizerFile || part.file == trained.file; });
  copy_into(others, state);
  if (strategy->updates()) strategy->load_optimizer_state(tensors_in(state, kOptimizerFile));
  if (scaler) restore_scaler(*scaler, state);
}

}  // namespace multicard
