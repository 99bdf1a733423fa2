#include "scheduling/replay/PublishedModel.hpp"

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

std::shared_ptr<const Application> application(const std::string& name) {
  return std::make_shared<Application>(test::source_path("tests/data/allocation/pollux/traces/" + name).string());
}

TEST(Application, HasThePublishedLimits) {
  const BatchLimits cifar10 = application("cifar10")->limits(), yolov3 = application("yolov3")->limits();

  EXPECT_EQ(cifar10.first, 128);
  EXPECT_EQ(cifar10.largest, 4096);
  EXPECT_EQ(cifar10.smallest_local, 32);
  EXPECT_EQ(cifar10.largest_local, 1024);
  EXPECT_EQ(yolov3.largest_local, 8);
  EXPECT_EQ(application("bert")->convergence().num_epochs(), 2);
}

TEST(Application, AddsTheStepsOfAccumulationWithoutTheirExchange) {
  const auto cifar10 = application("cifar10");
  const StepTime time = *cifar10->times().at({1, 1, 2}, 64);

  EXPECT_DOUBLE_EQ(cifar10->update_seconds({1, 1, 2}, {64, 2}), time.step + 2 * (time.step - time.sync));
}

TEST(FixedBatchModel, KeepsTheUsersBatch) {
  const FixedBatchModel model(application("cifar10"), 2048, 4);

  EXPECT_EQ(model.batch({4, 4}, 0), (LocalBatch{256, 0}));
  EXPECT_EQ(model.batch({4, 4}, 80), (LocalBatch{256, 0}));
  EXPECT_EQ(model.most_gpus(), 64);
  EXPECT_EQ(FixedBatchModel(application("ncf"), 32768, 4).most_gpus(), 1);
}

TEST(FixedBatchModel, SumsWhatRemainsOverTheEpochs) {
  const auto cifar10 = application("cifar10");
  const FixedBatchModel model(cifar10, 2048, 4);
  const Convergence& convergence = cifar10->convergence();
  const double update_s = model.update_seconds({4, 4}, {256, 0});
  double seconds = 0;
  for (int epoch = 98; epoch < 100; ++epoch)
    seconds += (convergence.progress_at(epoch + 1) - convergence.progress_at(epoch)) * update_s /
               model.update_gain(2048, epoch);

  EXPECT_NEAR(model.remaining_seconds(8, 98, convergence.progress_at(98)), seconds, 1e-9 * seconds);
  EXPECT_NEAR(model.remaining_seconds(8, 99, convergence.progress_at(100)), 0, 1e-9);
  EXPECT_EQ(model.remaining_updates(99), 1);
  EXPECT_EQ(model.remaining_updates(98), convergence.updates_after(2048, 99) - convergence.updates_after(2048, 98));
}

TEST(AdaptiveBatchModel, MakesTheMostProgressOfItsCandidates) {
  const auto cifar10 = application("cifar10");
  const AdaptiveBatchModel model(cifar10, 128, 4);

  for (const int epoch : {0, 40, 99}) {
    const LocalBatch best = model.batch({4, 4}, epoch);
    const double speed = model.update_gain(best.global(8), epoch) / model.update_seconds({4, 4}, best);
    for (const LocalBatch& split : candidate_batches(8, cifar10->limits()))
      EXPECT_LE(model.update_gain(split.global(8), epoch) / model.update_seconds({4, 4}, split), speed);
  }
  EXPECT_GT(model.batch({4, 4}, 99).global(8), model.batch({4, 4}, 0).global(8));
}

TEST(AdaptiveBatchModel, HasCandidatesFromTheFirstToTheLargestBatch) {
  const BatchLimits limits{.first = 100, .largest = 1000, .smallest_local = 10, .largest_local = 200};

  const std::vector<LocalBatch> on_two = candidate_batches(2, limits), on_fifty = candidate_batches(50, limits);

  EXPECT_EQ(on_two.front(), (LocalBatch{50, 0}));
  EXPECT_EQ(on_two.back(), (LocalBatch{166, 2}));  // 500 rows a GPU in three parts, kept below 1,000 in all
  EXPECT_EQ(on_fifty.front(), (LocalBatch{10, 0}));
  EXPECT_EQ(on_fifty.back(), (LocalBatch{20, 0}));
}

}  // namespace
}  // namespace multicard
