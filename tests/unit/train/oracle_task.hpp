#pragma once
// The batches of the MobileNetV2 oracle as a task of the trainer, and a whole trainer around it.

#include <functional>
#include <memory>

#include "device/BatchUploader.hpp"
#include "device/StepClock.hpp"
#include "dist/TensorCollectives.hpp"
#include "train/Trainer.hpp"
#include "unit/nn/oracle_run.hpp"

namespace multicard::test {

class OracleTask final : public Task {
 public:
  OracleTask(const Arithmetic& arithmetic, StatisticsReducer* statistics, const std::string& weights,
             double loss_factor = 1)
      : arithmetic_(arithmetic),
        synchronises_(statistics),
        loss_factor_(loss_factor),
        network_(oracle_network(weights, arithmetic)),
        uploader_(make_batch_uploader(arithmetic.device)) {
    network_->set_statistics_reducer(statistics);
  }

  std::vector<NamedTensor> parameters() const override { return network_->parameters(); }
  std::vector<NamedTensor> buffers() const override { return network_->buffers(); }
  std::int64_t steps_per_epoch() const override { return 10; }
  std::int64_t rows_in(std::int64_t) const override { return 8; }
  void start_reading(const ReadPlan& plan) override { plan_ = plan; }
  Batch next() override {
    constexpr std::int64_t kRows = 8;
    const std::int64_t step = plan_.first_step++, share = kRows / plan_.num_ranks, extra = kRows % plan_.num_ranks;
    const bool all = plan_.reading == Reading::all;
    const std::int64_t first = all ? 0 : plan_.rank * share + std::min<std::int64_t>(plan_.rank, extra);
    const std::int64_t count = all ? kRows : share + (plan_.rank < extra ? 1 : 0);
    const Samples mine = on_host(step).rows(first, count);
    return {step, 0, count, kRows, pinned(mine.images.contiguous(arithmetic_.layout)), pinned(mine.labels), {}};
  }
  Batch to_device(Batch batch) override {
    uploader_->start({batch.inputs, batch.targets});
    const std::vector<at::Tensor> moved = uploader_->take();
    batch.inputs = moved[0];
    batch.targets = moved[1];
    return batch;
  }
  Batch finish_input(Batch batch) override { return batch; }
  Batch allocate(std::int64_t step, std::int64_t rows) override {
    const Samples any = on_host(step);
    const auto there = [&](const at::Tensor& like) { return like.options().device(arithmetic_.device); };
    const at::Tensor images =
        at::empty({rows, 3, any.images.size(2), any.images.size(3)}, there(any.images), arithmetic_.layout);
    return {step, 0, rows, 8, images, at::empty({rows}, there(any.labels)), {}};
  }
  bool computes_empty_batches() const override { return synchronises_; }
  void begin_step(std::int64_t) override {}
  Loss forward(const Batch& batch) override {
    return {cross_entropy(network_->forward(batch.inputs), batch.targets, batch.global_rows).mul(loss_factor_)};
  }
  std::optional<Evaluation> evaluate() override { return std::nullopt; }
  std::int64_t host_to_device_bytes() const override { return uploader_->bytes_copied(); }

  Network& network() { return *network_; }

 private:
  Samples on_host(std::int64_t step) const {
    return oracle_batch(step % 10, {arithmetic_.dtype, arithmetic_.layout, at::kCPU});
  }
  at::Tensor pinned(const at::Tensor& host) const { return arithmetic_.device.is_cuda() ? host.pin_memory() : host; }

  Arithmetic arithmetic_;
  bool synchronises_;
  double loss_factor_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<BatchUploader> uploader_;
  ReadPlan plan_;
};

class SummedStatistics final : public StatisticsReducer {
 public:
  explicit SummedStatistics(TensorCollectives& collectives) : collectives_(collectives) {}
  int num_replicas() const override { return collectives_.size(); }
  int replica() const override { return collectives_.rank(); }
  void sum(at::Tensor& flat) override { collectives_.sum(flat); }

 private:
  TensorCollectives& collectives_;
};

enum class NormMode { per_replica, synchronised, frozen };

// What few tests ask of a training.
struct OracleExtras {
  std::optional<double> clip_norm, ema_decay;
  std::function<void(Trainer&)> first = [](Trainer&) {};  // called before the steps that are left then
};

// Trains the oracle's ten steps (further ones see its batches again) on the ranks of `communicator` with its recipe.
class OracleTraining {
 public:
  OracleTraining(const Communicator& communicator, const Arithmetic& arithmetic, NormMode norm,
                 const ParallelOptions& parallel = {}, std::optional<std::int64_t> micro_batch = {},
                 std::int64_t num_steps = 10, LossScaler* scaler = nullptr, double loss_factor = 1,
                 const OracleExtras& extras = {})
      : collectives_(make_collectives(Backend::automatic, communicator, arithmetic.device)),
        statistics_(*collectives_),
        task_(arithmetic, norm == NormMode::synchronised ? &statistics_ : nullptr, "init.safetensors", loss_factor),
        clock_(arithmetic.device),
        recorder_(clock_.name()) {
    if (norm == NormMode::frozen) task_.network().set_norm_statistics(Statistics::frozen);
    strategy_ = make_strategy(parallel, task_, *collectives_);
    OptimizerOptions sgd;
    sgd.momentum = 0.9;
    sgd.weight_decay = 4e-5;
    if (strategy_->updates()) optimizer_ = std::make_unique<Optimizer>(sgd, task_.parameters(), strategy_->gradients());
    schedule_ = std::make_unique<Schedule>(ScheduleOptions{}, 0.05, 10);
    TrainerOptions options;
    options.num_steps = num_steps;
    options.micro_batch = micro_batch;
    options.clip_norm = extras.clip_norm;
    options.results_lag = arithmetic.device.is_cuda() ? 1 : 0;
    std::optional<WeightAverage> average;
    if (extras.ema_decay) average.emplace(task_.network().state(), *extras.ema_decay);
    Trainer trainer(
        {task_, *strategy_, optimizer_.get(), *schedule_, clock_, recorder_, scaler, average ? &*average : nullptr},
        options);
    extras.first(trainer);
    while (!trainer.finished())
      trainer.step();
    strategy_->share_buffers();
    trainer.finish();
  }

  const std::vector<double>& losses() const { return recorder_.metrics().at("train_loss").values; }
  const std::vector<double>& norms() const { return recorder_.metrics().at("grad_norm").values; }
  Network& network() { return task_.network(); }
  Recorder& recorder() { return recorder_; }

 private:
  std::unique_ptr<TensorCollectives> collectives_;
  SummedStatistics statistics_;
  OracleTask task_;
  StepClock clock_;
  Recorder recorder_;
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace multicard::test
