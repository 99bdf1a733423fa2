#include "tasks/images/ImageClassifier.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "device/Precision.hpp"
#include "nn/losses/Losses.hpp"
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
  ImageScores scores = evaluate_images(test_set, classify, communicator, detail);
  network_->set_training(Mode::train);
  return scores;
}

}  // namespace multicard
