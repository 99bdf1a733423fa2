#pragma once
// The batches of the MobileNetV2 oracle and their network for the trainer, and a whole trainer around them.

#include <functional>
#include <memory>

#include "base/Blocks.hpp"
#include "data/loading/DataSource.hpp"
#include "device/StepClock.hpp"
#include "dist/TensorCollectives.hpp"
#include "train/Trainer.hpp"
#include "unit/nn/oracle_run.hpp"

namespace multicard::test {

/// The oracle's ten batches of 8 rows, over and over.
class OracleData final : public DataSource {
 public:
  explicit OracleData(const Arithmetic& arithmetic)
      : DataSource(Sampler(order()), arithmetic.device, Finishing::on_host), arithmetic_(arithmetic) {}

  Batch allocate(std::int64_t step) const override {
    const Samples any = on_host(step);
    const auto there = [&](const at::Tensor& like) { return like.options().device(arithmetic_.device); };
    const std::int64_t rows = local_rows(step);
    const at::Tensor images =
        at::empty({rows, 3, any.images.size(2), any.images.size(3)}, there(any.images), arithmetic_.layout);
    return {step, 0, rows, 8, images, at::empty({rows}, there(any.labels))};
  }
  WorkUnit unit() const override { return {"images", "img"}; }
  std::int64_t work_in(std::int64_t step) const override { return rows_in(step); }
  InputMemory memory(std::int64_t, std::int64_t) const override { return {}; }
  PartShape largest_part(std::int64_t rows, const ReadPlan&) const override { return {rows, 0 * rows}; }
  std::map<std::string, double> identity() const override { return {}; }

 private:
  static SamplerOptions order() {
    SamplerOptions order;
    order.num_rows = 80;
    order.global_batch = 8;
    order.shuffle = false;
    return order;
  }
  void open_loader(int rank, int num_ranks, std::int64_t first_step, std::int64_t) override {
    rank_ = rank;
    num_ranks_ = num_ranks;
    step_ = first_step;
  }
  void close_loader() override {}
  Batch read() override {
    const std::int64_t step = step_++;
    const Block own = block_of(8, rank_, num_ranks_);
    const Samples mine = on_host(step).rows(own.first, own.count);
    return {step, 0, own.count, 8, pinned(mine.images.contiguous(arithmetic_.layout)), pinned(mine.labels)};
  }
  Samples on_host(std::int64_t step) const {
    return oracle_batch(step % 10, {arithmetic_.dtype, arithmetic_.layout, at::kCPU});
  }
  at::Tensor pinned(const at::Tensor& host) const { return arithmetic_.device.is_cuda() ? host.pin_memory() : host; }

  Arithmetic arithmetic_;
  int rank_ = 0, num_ranks_ = 1;
  std::int64_t step_ = 0;
};

class OracleModel final : public Model {
 public:
  OracleModel(const Arithmetic& arithmetic, StatisticsReducer* statistics, const std::string& weights,
              double loss_factor = 1)
      : synchronises_(statistics), loss_factor_(loss_factor), network_(oracle_network(weights, arithmetic)) {
    network_->set_statistics_reducer(statistics);
  }

  std::vector<NamedTensor> parameters() const override { return network_->parameters(); }
  std::vector<NamedTensor> buffers() const override { return network_->buffers(); }
  bool runs_on_empty_batch() const override { return synchronises_; }
  void begin_step(std::int64_t, int) override {}
  Loss forward(const Batch& batch) override {
    return {cross_entropy(network_->forward(batch.inputs), batch.targets, batch.global_rows).mul(loss_factor_)};
  }
  Evaluation evaluate(DataSource&, const Communicator&) override { return {}; }

  Network& network() { return *network_; }

 private:
  bool synchronises_;
  double loss_factor_;
  std::unique_ptr<Network> network_;
};

class SummedStatistics final : public StatisticsReducer {
 public:
  explicit SummedStatistics(TensorCollectives& collectives) : collectives_(collectives) {}
  int num_replicas() const override { return collectives_.size(); }
  int replica() const override { return collectives_.rank(); }
  void all_reduce(at::Tensor& flat) override { collectives_.all_reduce(flat); }

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
        data_(arithmetic),
        model_(arithmetic, norm == NormMode::synchronised ? &statistics_ : nullptr, "init.safetensors", loss_factor),
        clock_(arithmetic.device),
        recorder_(clock_.name()) {
    if (norm == NormMode::frozen) model_.network().set_norm_statistics(Statistics::frozen);
    OptimizerOptions sgd;
    sgd.momentum = 0.9;
    sgd.weight_decay = 4e-5;
    sgd.clip_norm = extras.clip_norm;
    strategy_ = make_strategy(parallel, sgd, {model_, data_, *collectives_});
    schedule_ = std::make_unique<Schedule>(ScheduleOptions{}, 0.05, 10);
    TrainerOptions options;
    options.num_steps = num_steps;
    options.micro_batch = micro_batch;
    options.results_lag = arithmetic.device.is_cuda() ? 1 : 0;
    std::optional<ExponentialMovingAverage> average;
    if (extras.ema_decay) average.emplace(model_.network().state(), *extras.ema_decay);
    Trainer trainer({model_, *strategy_, *schedule_, clock_, recorder_, scaler, average ? &*average : nullptr},
                    options);
    extras.first(trainer);
    while (!trainer.finished())
      trainer.step();
    strategy_->share_buffers();
    trainer.finish();
  }

  const std::vector<double>& losses() const { return recorder_.metrics().at("train_loss").values; }
  const std::vector<double>& norms() const { return recorder_.metrics().at("grad_norm").values; }
  Network& network() { return model_.network(); }
  Recorder& recorder() { return recorder_; }

 private:
  std::unique_ptr<TensorCollectives> collectives_;
  SummedStatistics statistics_;
  OracleData data_;
  OracleModel model_;
  StepClock clock_;
  Recorder recorder_;
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace multicard::test
