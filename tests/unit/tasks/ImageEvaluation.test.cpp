// Scores against loops that read one image after the other.
#include "tasks/images/ImageEvaluation.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <gtest/gtest.h>

#include "data/loading/ImageDataSource.hpp"
#include "prepare/sets/Prepare.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

constexpr std::int64_t kNumRows = 37, kNumClasses = 9;

void write_shards(const ScratchFolder& scratch) {
  PrepareOptions options;
  options.format = ImageFormat::synthetic;
  options.size = 8;
  options.classes = kNumClasses;
  options.limit = kNumRows;
  options.num_shards = 2;
  options.output = scratch / "test";
  options.quiet = true;
  prepare_images(options, world());
}

/// Logits that differ between images and have no ties.
at::Tensor logits_of(const at::Tensor& images) {
  const at::Tensor brightness = images.flatten(1).mean(1, true);
  return at::cos(brightness * at::arange(1, kNumClasses + 1, images.options()) * 7) * 3;
}

std::unique_ptr<ImageDataSource> open(const ScratchFolder& scratch, std::int64_t batch,
                                      const Communicator& communicator) {
  ImageSourceOptions options;
  options.shards = scratch / "test*.h5";
  options.loader.preprocess.size = 8;
  options.loader.dtype = at::kDouble;
  options.order.global_batch = batch;
  options.order.shuffle = false;
  return ImageDataSource::open(options, communicator, at::kCPU);
}

struct Expected {
  double loss = 0, correct = 0, top5 = 0;
  Confusion confusion;
};

/// One image after the other, as the definitions say.
Expected brute_force(const ScratchFolder& scratch) {
  Expected expected;
  for_each_batch(*open(scratch, 1, Communicator::null()), Communicator::null(), [&](const Batch& batch) {
    const at::Tensor row = logits_of(batch.inputs).contiguous();
    const std::vector<double> logits(row.const_data_ptr<double>(), row.const_data_ptr<double>() + kNumClasses);
    const auto label = static_cast<std::size_t>(batch.targets.item<std::int64_t>());
    double sum = 0;
    for (const double logit : logits)
      sum += std::exp(logit);
    expected.loss += (std::log(sum) - logits[label]) / static_cast<double>(kNumRows);
    const auto better = std::count_if(logits.begin(), logits.end(), [&](double x) { return x > logits[label]; });
    if (better < 1) ++expected.correct;
    if (better < 5) ++expected.top5;
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    ++expected.confusion[{static_cast<std::int64_t>(label), best}];
  });
  return expected;
}

ImageScores evaluate(const ScratchFolder& scratch, std::int64_t batch, Detail detail) {
  const auto classify = [](const Batch& rows) -> Classified { return {logits_of(rows.inputs), rows.targets}; };
  return evaluate_images(*open(scratch, batch, world()), classify, world(), detail);
}

TEST(ImageEvaluation, EqualsBruteForceOnAnyNumberOfRanks) {
  const ScratchFolder scratch;
  write_shards(scratch);
  const Expected expected = brute_force(scratch);
  ASSERT_GT(expected.correct, 0);
  ASSERT_LT(expected.top5, kNumRows);

  for (const std::int64_t batch : {1, 2, 16, 100}) {  // a batch of 1 leaves all ranks but one without rows
    const ImageScores scores = evaluate(scratch, batch, Detail::classes);
    EXPECT_NEAR(scores.totals.loss, expected.loss, 1e-12);
    EXPECT_EQ(scores.totals.accuracy, expected.correct / kNumRows);
    EXPECT_EQ(scores.totals.top5, expected.top5 / kNumRows);
    EXPECT_EQ(scores.totals.samples, kNumRows);
    EXPECT_EQ(scores.confusion, expected.confusion);
  }
}

TEST(ImageEvaluation, TotalsAloneAreTheSameBits) {
  const ScratchFolder scratch;
  write_shards(scratch);
  const ImageScores totals = evaluate(scratch, 8, Detail::totals), classes = evaluate(scratch, 8, Detail::classes);

  EXPECT_TRUE(totals.confusion.empty());
  EXPECT_EQ(totals.totals.loss, classes.totals.loss);
  EXPECT_EQ(totals.totals.accuracy, classes.totals.accuracy);
  EXPECT_EQ(totals.totals.top5, classes.totals.top5);
}

}  // namespace
}  // namespace multicard
