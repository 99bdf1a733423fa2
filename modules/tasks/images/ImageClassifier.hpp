#pragma once
/// \file Image classification as a model of the trainer.

#include <memory>
#include <optional>

#include "device/AllocationTrace.hpp"
#include "nn/vision/Network.hpp"
#include "sharding/ShardedBlocks.hpp"
#include "tasks/images/ImageEvaluation.hpp"
#include "tasks/interface/MeasuredModel.hpp"
#include "tasks/interface/StepSeed.hpp"
#include "tasks/options/RunOptions.hpp"
#include "train/Model.hpp"

namespace multicard {

/// A network of nn with cross-entropy; evaluated by loss, top-1 and top-5 accuracy.
class ImageClassifier final : public Model, public MeasuredModel {
 public:
  /// The deck's network with `num_classes` outputs on `device`. \throws UsageError and DataError about the options and
  /// the starting weights
  ImageClassifier(const RunOptions& options, std::int64_t num_classes, at::Device device);

  /// Synchronises batch norm from now on; null: it is computed by each replica. It must outlive the model, or the next
  /// call.
  void set_statistics_reducer(StatisticsReducer* statistics);

  /// Collective. Splits the blocks of the network over these ranks, for as long as this lives. \throws UsageError where
  /// the deck freezes all of them
  void split(const ShardRanks& ranks);
  /// Null: the network is whole on every rank.
  const ShardRanks* shard_ranks() const { return split_ ? &split_->ranks() : nullptr; }
  /// Bytes of the network's state on this rank.
  std::int64_t held_bytes() const;

  const Network& network() const { return *network_; }
  std::int64_t num_classes() const { return num_classes_; }
  /// Collective. As evaluate(), class by class if asked.
  ImageScores score(DataSource& test_set, const Communicator& communicator, Detail detail);

  std::vector<NamedTensor> parameters() const override { return network_->parameters(); }
  std::vector<NamedTensor> buffers() const override { return network_->buffers(); }
  /// Makes room for their gradients the first time.
  SplitParameters* split_parameters() override;
  bool runs_on_empty_batch() const override { return synchronises_ || split_ != nullptr; }
  void begin_step(std::int64_t step, int replica) override;
  Loss forward(const Batch& batch) override;
  Evaluation evaluate(DataSource& test_set, const Communicator& communicator) override;
  FrozenBytes frozen() const override;
  StageBytes activation_bytes(const PartShape& part, const Backward& backward) override;
  void set_micro_batch(std::int64_t rows) override { options_.run.micro_batch = rows; }

 private:
  at::Tensor logits(const at::Tensor& images);
  /// The same, run.micro_batch rows at a time.
  at::Tensor logits_in_parts(const at::Tensor& images);
  MeasuredPair measure_activations(const Backward& backward);
  /// On images of `size` pixels a side.
  MeasuredPair measure_activations(std::int64_t size, const Backward& backward);

  RunOptions options_;
  std::int64_t num_classes_;
  at::Device device_;
  Precision precision_;
  std::unique_ptr<Network> network_;
  std::shared_ptr<ShardedBlocks> split_;  ///< the network's hooks
  bool synchronises_ = false;
  StepSeeds seeds_;                       ///< of dropout
  std::optional<MeasuredPair> measured_;  ///< measuring it takes seconds
};

}  // namespace multicard
