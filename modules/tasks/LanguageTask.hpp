#pragma once
/// \file Tuning a language model as a task of the trainer.

#include <memory>
#include <optional>

#include "data/TextLoader.hpp"
#include "device/BatchUploader.hpp"
#include "tasks/Interview.hpp"
#include "tasks/LanguageModel.hpp"
#include "tasks/SessionTask.hpp"

namespace multicard {

/// The name under which checkpoints tell the prompt template of their training data.
inline constexpr const char* kTemplateOfRun = "template";
inline constexpr const char* kTemplateDateOfRun = "template_date";

/// Loss over a set of sequences, equal on all ranks.
struct TextTotals {
  double loss = 0;  ///< mean over target tokens
  std::int64_t sequences = 0, tokens = 0, targets = 0;

  double perplexity() const;
  Evaluation evaluation() const;
};

/// A Llama-type model, token shards from data, cross-entropy over the target tokens.
class LanguageTask final : public SessionTask {
 public:
  /// Collective: opens the shards named by the deck and loads the model to `device`.
  LanguageTask(const RunOptions& options, const Communicator& communicator, at::Device device);

  std::vector<NamedTensor> parameters() const override { return model_->network().parameters(); }
  std::vector<NamedTensor> buffers() const override { return {}; }
  std::int64_t steps_per_epoch() const override { return train_.sampler.steps_per_epoch(); }
  std::int64_t rows_in(std::int64_t step) const override { return train_.sampler.rows_in(step); }
  void start_reading(const ReadPlan& plan) override;
  Batch next() override;
  Batch to_device(Batch batch) override;
  Batch finish_input(Batch batch) override;
  Batch allocate(std::int64_t step, std::int64_t num_rows) override;
  bool computes_empty_batches() const override { return false; }
  void begin_step(std::int64_t step) override;
  Loss forward(const Batch& batch) override;
  std::optional<Evaluation> evaluate() override;
  std::int64_t host_to_device_bytes() const override { return uploader_->bytes_copied(); }

  std::vector<std::pair<std::string, std::string>> description() const override;
  bool has_test_set() const override { return test_.has_value(); }
  std::string describe(const Evaluation& evaluation) const override;
  const Interview* interview() const override { return interview_.get(); }
  WorkUnit unit() const override { return {"tokens", "tok"}; }
  std::int64_t work_in(std::int64_t step) const override;
  CheckpointPart model_part() const override { return {model_->file_name(), model_->trained()}; }
  std::map<std::string, std::string> model_files() const override { return model_->files_beside(); }
  std::map<std::string, std::string> model_identity() const override;
  std::map<std::string, double> data_identity() const override;
  void add_memory(MemoryNeed& need, std::int64_t rows, std::int64_t rows_read) override;
  std::int64_t work_bytes(std::int64_t rows, const std::function<void(const at::Tensor&)>& backward) override;
  void add_attributes(RunSummary& summary) const override;
  double flops_in(std::int64_t step) const override;

  /// Collective. There must be a test set.
  TextTotals score_test_set();
  LanguageModel& model() { return *model_; }

 private:
  /// Shards and the rows they make.
  struct TextSet {
    TextSet(const std::string& pattern, const RunOptions& options, std::optional<std::int64_t> limit,
            const Communicator& communicator, Sampler (*order)(const RunOptions&, std::int64_t rows, int ranks));

    TokenShards shards;
    TextRows rows;
    Sampler sampler;
  };

  TextLoaderOptions loader_options() const;
  void check_vocabulary(const TextSet& set) const;
  void warn_of_tokenizers() const;
  std::string tokens_text() const;

  RunOptions options_;
  Communicator communicator_;
  at::Device device_;
  TextSet train_;
  std::optional<TextSet> test_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<Interview> interview_;
  std::unique_ptr<BatchUploader> uploader_;
  ReadPlan plan_;
  std::uint64_t step_seed_ = 0;     ///< of dropout
  std::uint64_t num_forwards_ = 0;  ///< micro-batches since the step began
  std::unique_ptr<TextLoader> loader_;
};

}  // namespace multicard
