#include "run/ShardPredictions.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "memory/ImageMemory.hpp"
#include "memory/MethodMemory.hpp"
#include "tasks/images/ImageTask.hpp"
#include "tasks/language/LanguageTask.hpp"

namespace multicard {

namespace {

std::int64_t rows_at_once(const RunOptions& options, int num_ranks) {
  const std::int64_t all = options.run.batch_over(num_ranks), most = (all + num_ranks - 1) / num_ranks;
  return std::min(most, options.run.chooses_micro_batch ? 1 : options.run.micro_batch.value_or(most));
}

/// Of rows of the longest length in the training set.
class TextPredictions final : public ShardPredictions {
 public:
  TextPredictions(const RunOptions& options, at::Device device, int num_ranks, std::int64_t length)
      : options_(options), device_(device), num_ranks_(num_ranks), length_(length) {}

  bool can(Shard) const override { return true; }
  MemoryEstimate of(const ShardCandidate& candidate) override {
    if (!memory_) memory_.emplace(options_, device_, num_ranks_);
    return memory_->with(rows_at_once(options_, num_ranks_), length_, candidate);
  }

 private:
  RunOptions options_;
  at::Device device_;
  int num_ranks_;
  std::int64_t length_;  ///< tokens; of pairs those of an answer
  std::optional<MethodMemory> memory_;
};

class ImagePredictions final : public ShardPredictions {
 public:
  ImagePredictions(const RunOptions& options, std::unique_ptr<ImageDataSource> training, at::Device device,
                   int num_ranks)
      : training_(std::move(training)),
        memory_(options, *training_, device, num_ranks),
        rows_(rows_at_once(options, num_ranks)) {}

  bool can(Shard shard) const override { return memory_.can(shard); }
  MemoryEstimate of(const ShardCandidate& candidate) override { return memory_.with(rows_, candidate); }

 private:
  std::unique_ptr<ImageDataSource> training_;
  ImageMemory memory_;
  std::int64_t rows_;
};

}  // namespace

std::unique_ptr<ShardPredictions> ShardPredictions::open(const RunOptions& options, const Communicator& communicator,
                                                         at::Device device, TaskScan& scan) {
  const int num_ranks = communicator.size();
  if (!options.is_language()) {
    auto training = open_training_images(options, communicator, device, scan.training_images);
    scan.training_images = training->shards().scan();
    return std::make_unique<ImagePredictions>(options, std::move(training), device, num_ranks);
  }
  const auto training = open_training_set(options, communicator, at::kCPU, scan.training_text);
  scan.training_text = training->scan();
  const TextRows& rows = training->rows();
  const std::int64_t length = options.method.is_preference() ? rows.longest_sequence() : rows.longest_row();
  return std::make_unique<TextPredictions>(options, device, num_ranks, length);
}

}  // namespace multicard
