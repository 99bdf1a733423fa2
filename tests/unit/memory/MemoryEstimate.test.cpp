#include "memory/MemoryEstimate.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

const MemoryEstimate kEstimate{9'000'000, 9'000'000, 9'000'000, 980'000'000, 40'000'000};

TEST(MemoryEstimate, NamesItsParts) {
  EXPECT_EQ(kEstimate.text(),
            "1.05 GB per rank (weights 9 MB, gradients 9 MB, optimizer 9 MB, activations 980 MB, loader 40 MB)");
  EXPECT_EQ(kEstimate.total() - kEstimate.on_device(), 40'000'000);
  MemoryEstimate more = kEstimate;
  more.batches = 12'000'000;
  more.other = 34'000'000;
  EXPECT_NE(more.text().find("activations 980 MB, batches 12 MB, buffers 34 MB, loader"), std::string::npos);
  EXPECT_EQ(more.on_device() - kEstimate.on_device(), 46'000'000);
}

TEST(MemoryEstimate, ReportsWhatWorkHolds) {
  MemoryEstimate estimate = kEstimate;
  StageBytes most;
  most[WorkStage::forward] = 320'000'000;
  most[WorkStage::logits] = 64'000'000;
  most[WorkStage::backward] = 32'000'000;
  estimate.set_work(most);
  estimate.reference = 100'000'000;
  EXPECT_EQ(estimate.work(), most.total());
  EXPECT_EQ(estimate.on_device(), 27'000'000 + 416'000'000 + 100'000'000);
  EXPECT_NE(estimate.text().find("weights 9 MB, reference 100 MB, gradients 9 MB"), std::string::npos);
  EXPECT_NE(estimate.text().find("activations 320 MB, logits 64 MB, workspace 32 MB"), std::string::npos);
  EXPECT_EQ(with_rounding(most).total(), most.total() + most.total() / 32);
  estimate.evaluation = 50'000'000;
  EXPECT_EQ(estimate.work(), most.total() + 50'000'000);
  EXPECT_NE(estimate.text().find("workspace 32 MB, evaluation 50 MB, loader"), std::string::npos) << estimate.text();
}

TEST(MemoryEstimate, FindsDivisors) {
  EXPECT_EQ(divisors_of(1), std::vector<std::int64_t>{1});
  EXPECT_EQ(divisors_of(12), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(divisors_of(49), (std::vector<std::int64_t>{1, 7, 49}));
}

TEST(MemoryEstimate, KnowsErrorsOfMemory) {
  EXPECT_TRUE(is_out_of_memory(out_of_memory_error(kEstimate, 100, 0)));
  EXPECT_TRUE(is_out_of_memory(EnvironmentError("the device is out of memory in step 3").on_all_ranks()));
  EXPECT_FALSE(is_out_of_memory(EnvironmentError("there is no GPU")));
  EXPECT_FALSE(is_out_of_memory(DataError("the device is out of memory")));
}

TEST(MemoryEstimate, FindsTheLargestThatFits) {
  for (std::int64_t limit = 0; limit <= 9; ++limit)
    EXPECT_EQ(largest_that_fits(7, [&](std::int64_t number) { return number <= limit; }),
              std::min<std::int64_t>(7, limit));
  EXPECT_EQ(largest_that_fits(0, [](std::int64_t) { return true; }), 0);
}

TEST(MemoryEstimate, NamesTheLargestMicroBatchThatFits) {
  const EnvironmentError some = out_of_memory_error(kEstimate, 500'000'000, 12),
                         none = out_of_memory_error(kEstimate, 100, 0);
  EXPECT_EQ(some.code(), ExitCode::environment);
  EXPECT_NE(std::string(some.what()).find("would need 1.05 GB"), std::string::npos);
  EXPECT_NE(std::string(some.what()).find("Set run.micro_batch=12,"), std::string::npos);
  EXPECT_NE(std::string(none.what()).find("not even run.micro_batch=1 fits"), std::string::npos);
}

TEST(MemoryEstimate, NamesTheAnswersWhereTheyTakeMost) {
  MemoryEstimate asked = kEstimate;
  asked.answers = 20'000'000;

  const EnvironmentError error = out_of_memory_error(asked, 1'060'000'000, 12);
  const std::string message = error.what();

  EXPECT_FALSE(is_out_of_memory(error));  // no table of what could be trained
  EXPECT_EQ(asked.on_device() - kEstimate.on_device(), 20'000'000);
  EXPECT_NE(message.find("activations 980 MB, answers 20 MB"), std::string::npos) << message;
  EXPECT_NE(message.find("Lower evaluate.max_new"), std::string::npos) << message;
  EXPECT_EQ(message.find("run.micro_batch=12"), std::string::npos) << message;
  EXPECT_NE(std::string(out_of_memory_error(asked, 900'000'000, 12).what()).find("run.micro_batch=12"),
            std::string::npos);
}

TEST(MemoryEstimate, NamesTheEvaluationWhereItTakesMost) {
  MemoryEstimate evaluated = kEstimate;
  evaluated.evaluation = 20'000'000;

  const std::string message = out_of_memory_error(evaluated, 1'060'000'000, 0).what();

  EXPECT_NE(message.find("evaluation would need"), std::string::npos) << message;
  EXPECT_NE(message.find("Shorten the rows of data.test"), std::string::npos) << message;
  EXPECT_NE(std::string(out_of_memory_error(evaluated, 1'060'000'000, 4).what()).find("run.micro_batch=4"),
            std::string::npos);  // which evaluation computes at once, too
  EXPECT_NE(std::string(out_of_memory_error(evaluated, 900'000'000, 0).what()).find("not even run.micro_batch=1"),
            std::string::npos);
}

TEST(MemoryEstimate, IsTheLeastWithoutActivations) {
  MemoryEstimate least = kEstimate;
  least.activations = 0;

  const std::string message = out_of_memory_error(least, 100, 0).what();

  EXPECT_NE(message.find("would need at least 67 MB per rank (weights 9 MB, gradients 9 MB, optimizer 9 MB, loader"),
            std::string::npos)
      << message;
}

}  // namespace
}  // namespace multicard
