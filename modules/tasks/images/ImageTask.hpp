#pragma once
/// \file Image classification as a task of a deck.

#include <memory>

#include "data/loading/ImageDataSource.hpp"
#include "state/CheckpointStore.hpp"
#include "tasks/images/ImageClassifier.hpp"
#include "tasks/interface/Task.hpp"

namespace multicard {

/// What replicas compute together.
struct ReplicaLinks {
  StatisticsReducer* statistics = nullptr;  ///< synchronises batch norm; null: each has its own
  ShardRanks sharding = {};                 ///< weights are split over these; none: each has all
};

/// Collective. The training set of a deck.
std::unique_ptr<ImageDataSource> open_training_images(const RunOptions& options, const Communicator& communicator,
                                                      at::Device device,
                                                      const std::shared_ptr<const ImageSetScan>& scan = nullptr);
/// How many classes a deck's network has. \throws UsageError where those of the training set are more
std::int64_t num_classes_of(const RunOptions& options, const ImageSetInfo& training);

/// An image classifier and image shards.
class ImageTask final : public Task {
 public:
  /// Collective. See make_task().
  ImageTask(const RunOptions& options, const Communicator& communicator, at::Device device,
            const ReplicaLinks& links = {}, std::shared_ptr<ImageClassifier> model = nullptr,
            const TaskScan& scan = {});

  TaskData data() override { return {*train_, test_.get(), nullptr}; }
  std::shared_ptr<Model> model() const override { return model_; }
  MeasuredModel& measured_model() const override { return *model_; }
  TaskScan scan() const override;
  ImageClassifier& classifier() { return *model_; }
  /// Collective. As the model's evaluate(), class by class if asked. There must be a test set.
  ImageScores score_test_set(Detail detail) { return model_->score(*test_, communicator_, detail); }
  /// Null without a test set.
  const ImageShards* test_set() const { return test_ ? &test_->shards() : nullptr; }

  std::vector<std::pair<std::string, std::string>> description() const override;
  std::string describe(const Evaluation& evaluation) const override;
  void add_attributes(RunSummary& summary) const override;
  double flops_in(std::int64_t) const override { return 0; }
  CheckpointPart model_part() const override { return {kModelFile, model_->network().state()}; }
  std::map<std::string, std::string> model_files() const override { return {}; }
  std::map<std::string, std::string> model_identity() const override { return {}; }

 private:
  std::shared_ptr<ImageClassifier> make_model(at::Device device) const;

  RunOptions options_;
  Communicator communicator_;
  std::unique_ptr<ImageDataSource> train_, test_;
  std::shared_ptr<ImageClassifier> model_;
};

}  // namespace multicard
