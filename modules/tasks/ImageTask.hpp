#pragma once
/// \file Image classification as a task of the trainer.

#include <memory>
#include <optional>

#include "comm/Communicator.hpp"
#include "config/RunOptions.hpp"
#include "data/DevicePreprocessor.hpp"
#include "data/ImageLoader.hpp"
#include "data/ImageShards.hpp"
#include "device/AllocationTrace.hpp"
#include "device/BatchUploader.hpp"
#include "device/Precision.hpp"
#include "nn/NetworkFactory.hpp"
#include "tasks/ImageEvaluation.hpp"
#include "tasks/SessionTask.hpp"

namespace multicard {

/// A network from nn, shards from data, cross-entropy and top-1 accuracy.
class ImageTask final : public SessionTask {
 public:
  /// Collective: opens the shards named by the deck and builds the network on `device`. `statistics` (may be null)
  /// synchronises batch norm and must outlive the task.
  ImageTask(const RunOptions& options, const Communicator& communicator, at::Device device,
            StatisticsReducer* statistics);

  std::vector<NamedTensor> parameters() const override { return network_->parameters(); }
  std::vector<NamedTensor> buffers() const override { return network_->buffers(); }
  std::int64_t steps_per_epoch() const override { return sampler_.steps_per_epoch(); }
  std::int64_t rows_in(std::int64_t step) const override { return sampler_.rows_in(step); }
  void start_reading(const ReadPlan& plan) override;
  Batch next() override;
  Batch to_device(Batch batch) override;
  Batch finish_input(Batch batch) override;
  Batch allocate(std::int64_t step, std::int64_t num_rows) override;
  bool computes_empty_batches() const override { return synchronises_; }
  void begin_step(std::int64_t step) override;
  Loss forward(const Batch& batch) override;
  std::optional<Evaluation> evaluate() override;
  std::int64_t host_to_device_bytes() const override { return uploader_->bytes_copied(); }
  /// Collective. As evaluate(), class by class if asked. There must be a test set.
  ImageScores score_test_set(Detail detail);

  std::vector<std::pair<std::string, std::string>> description() const override;
  bool has_test_set() const override { return test_.has_value(); }
  std::string describe(const Evaluation& evaluation) const override;
  WorkUnit unit() const override { return {"images", "img"}; }
  std::int64_t work_in(std::int64_t step) const override { return rows_in(step); }
  double flops_in(std::int64_t) const override { return 0; }
  CheckpointPart model_part() const override { return {kModelFile, network_->state()}; }
  std::map<std::string, std::string> model_files() const override { return {}; }
  std::map<std::string, std::string> model_identity() const override { return {}; }
  std::map<std::string, double> data_identity() const override;
  void add_memory(MemoryNeed& need, std::int64_t rows, std::int64_t rows_read) override;
  std::int64_t work_bytes(std::int64_t rows, const std::function<void(const at::Tensor&)>& backward) override;
  void add_attributes(RunSummary& summary) const override;

  /// Of the deck, else of the training shards.
  NormalizeOptions normalisation() const;
  const Network& network() const { return *network_; }
  /// Null without a test set.
  const ImageShards* test_set() const { return test_ ? &*test_ : nullptr; }
  std::int64_t num_classes() const { return classes_; }

 private:
  void build_network(StatisticsReducer* statistics);
  MeasuredPair measure_work(const std::function<void(const at::Tensor&)>& backward);
  /// On images of `size` pixels a side.
  MeasuredPair measure_work_by(std::int64_t size, const std::function<void(const at::Tensor&)>& backward);
  LoaderOptions loader_options(const ImageShards& shards) const;
  LoaderOptions train_loader_options() const;
  /// The second half of the device pipeline; none of the host pipeline.
  std::optional<DevicePreprocessor> make_device_input(const LoaderOptions& loader) const;
  at::Tensor logits(const at::Tensor& images);
  /// The same, run.micro_batch rows at a time.
  at::Tensor logits_in_parts(const at::Tensor& images);

  RunOptions options_;
  Communicator communicator_;
  at::Device device_;
  Precision precision_;
  ImageShards train_;
  std::optional<ImageShards> test_;
  std::int64_t classes_;
  Sampler sampler_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<BatchUploader> uploader_;
  std::optional<DevicePreprocessor> device_input_;
  bool synchronises_;
  int num_workers_;
  ReadPlan plan_;
  std::uint64_t step_seed_ = 0;     ///< of dropout
  std::uint64_t num_forwards_ = 0;  ///< micro-batches since the step began
  std::unique_ptr<ImageLoader> loader_;
  std::optional<MeasuredPair> measured_work_;  ///< measuring it takes seconds
};

}  // namespace multicard
