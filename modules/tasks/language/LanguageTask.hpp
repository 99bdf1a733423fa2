#pragma once
/// \file Tuning a language model as a task of a deck.

#include <memory>
#include <optional>

#include "data/loading/TextDataSource.hpp"
#include "generation/GenerationEvaluation.hpp"
#include "tasks/interface/Task.hpp"
#include "tasks/language/LanguageModel.hpp"

namespace multicard {

/// The name under which checkpoints tell the prompt template of their training data.
inline constexpr const char* kTemplateOfRun = "template";
inline constexpr const char* kTemplateDateOfRun = "template_date";

/// Collective. The training set of a deck.
std::unique_ptr<TextDataSource> open_training_set(const RunOptions& options, const Communicator& communicator,
                                                  at::Device device,
                                                  const std::optional<TextSetScan>& scan = std::nullopt);

/// A language model and token shards.
class LanguageTask final : public Task {
 public:
  /// Collective. See make_task(). \param sharding of LanguageModel
  LanguageTask(const RunOptions& options, const Communicator& communicator, at::Device device,
               const ShardRanks& sharding = {}, std::shared_ptr<LanguageModel> model = nullptr,
               const TaskScan& scan = {});

  TaskData data() override { return {*train_, test_.get(), generation_evaluation_.get()}; }
  std::shared_ptr<Model> model() const override { return model_; }
  MeasuredModel& measured_model() const override { return *model_; }
  TaskScan scan() const override;
  LanguageModel& language_model() { return *model_; }
  /// Collective. There must be a test set.
  TextTotals score_test_set() { return model_->score(*test_, communicator_); }
  /// With a cached reference its log-probabilities of all sets, or of the test set.
  /// @{
  void prepare(Weights weights) override;
  void prepare_test_set(Weights weights);
  /// @}

  std::vector<std::pair<std::string, std::string>> description() const override;
  std::string describe(const Evaluation& evaluation) const override;
  void add_attributes(RunSummary& summary) const override;
  std::map<std::string, std::int64_t> weight_parts() const override;
  double flops_in(std::int64_t step) const override;
  CheckpointPart model_part() const override { return {model_->file_name(), model_->trained()}; }
  std::map<std::string, std::string> model_files() const override { return model_->non_tensor_files(); }
  void finish_identity() override { model_->base_identity().finish(communicator_); }
  std::map<std::string, std::string> model_identity() const override;

 private:
  void check_vocabulary(const TextDataSource& set) const;
  void warn_of_tokenizers() const;
  std::string tokens_text() const;

  bool needs_table(bool has_one) const;

  RunOptions options_;
  Communicator communicator_;
  at::Device device_;
  std::unique_ptr<TextDataSource> train_, test_;
  std::shared_ptr<LanguageModel> model_;
  std::unique_ptr<GenerationEvaluation> generation_evaluation_;
};

}  // namespace multicard
