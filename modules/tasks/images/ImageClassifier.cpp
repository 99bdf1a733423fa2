#include "tasks/images/ImageClassifier.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "base/Error.hpp"
#include "device/Precision.hpp"
#include "nn/losses/Losses.hpp"
#include "sharding/SplitNetwork.hpp"
#include "tasks/images/ImageNetwork.hpp"

namespace multicard {

ImageClassifier::ImageClassifier(const RunOptions& options, std::int64_t num_classes, at::Device device)
    : options_(options),
      num_classes_(num_classes),
      device_(device),
      precision_(options.precision),
      network_(make_image_network(options, num_classes, device)) {}

void ImageClassifier::set_statistics_reducer(StatisticsReducer* statistics) {
  synchronises_ = statistics != nullptr;
  network_->set_statistics_reducer(statistics);
}

void ImageClassifier::split(const ShardRanks& ranks) {
  if (network_->block_weights().empty())
    throw UsageError("parallel.shard has no weights to split", "model.freeze leaves no convolution of a block to train",
                     "Set parallel.shard=optimizer or none, or freeze less.");
  split_ = split_network(*network_, ranks);
}

SplitParameters* ImageClassifier::split_parameters() {
  if (split_ && !split_->is_trained()) split_->train(options_.parallel.gradient_dtype);
  return split_.get();
}

std::int64_t ImageClassifier::held_bytes() const {
  return bytes_of(network_->state()) - (split_ ? split_->spared_bytes() : 0);
}

void ImageClassifier::begin_step(std::int64_t step, int replica) {
  seeds_ = StepSeeds(options_.run.seed, step, replica);
}

at::Tensor ImageClassifier::logits(const at::Tensor& images) {
  const Autocast autocast(precision_, device_);
  return network_->forward(images);
}

// Evaluation batches are as large as training batches, but only run.micro_batch rows were predicted to fit.
at::Tensor ImageClassifier::logits_in_parts(const at::Tensor& images) {
  const std::int64_t rows = options_.run.micro_batch.value_or(images.size(0));
  if (rows >= images.size(0)) return logits(images);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : images.split(rows))
    parts.push_back(logits(part));
  return at::cat(parts);
}

Loss ImageClassifier::forward(const Batch& batch) {
  // Every micro-batch takes a seed of its own: with the step's seed alone all of them would drop the same elements.
  network_->set_dropout_seed(seeds_.next());
  // With synchronised batch norm a rank without rows computes with none: that is in step with the others, too.
  if (split_ && !synchronises_ && batch.num_rows == 0) return {split_->idle_loss()};
  return {cross_entropy(logits(batch.inputs), batch.targets, batch.global_rows, options_.optimizer.label_smoothing)};
}

Evaluation ImageClassifier::evaluate(DataSource& test_set, const Communicator& communicator) {
  return score(test_set, communicator, Detail::totals).totals.evaluation();
}

ImageScores ImageClassifier::score(DataSource& test_set, const Communicator& communicator, Detail detail) {
  const at::NoGradGuard no_grad;
  network_->set_training(Mode::evaluate);
  const auto classify = [&](const Batch& batch) -> Classified {
    return {logits_in_parts(batch.inputs), batch.targets};
  };
  ImageScores scores = evaluate_images(test_set, classify, communicator, detail, network_->block_hooks());
  network_->set_training(Mode::train);
  return scores;
}

}  // namespace multicard
