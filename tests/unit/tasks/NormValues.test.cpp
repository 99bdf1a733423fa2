// Runs whose batch norms would have one value per channel are refused before they begin.
#include "tasks/setup/NormValues.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/task_run.hpp"

namespace multicard {
namespace {

using namespace test;

RunOptions options_of(std::int64_t image_size, std::optional<std::int64_t> micro_batch = std::nullopt) {
  RunOptions options;
  options.data.image_size = image_size;
  options.run.micro_batch = micro_batch;
  return options;
}

std::string complaint(const RunOptions& options, std::int64_t num_rows, int num_ranks) {
  try {
    check_norm_values(options, num_rows, num_ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    return error.what();
  }
  return "";
}

TEST(NormValues, AreRowsTimesPlacesOfTheSmallestMap) {
  EXPECT_EQ(least_norm_values(options_of(32), 8, 2), 4);
  EXPECT_EQ(least_norm_values(options_of(33), 8, 2), 16);
  EXPECT_EQ(least_norm_values(options_of(224, 2), 8, 2), 2 * 49);
  EXPECT_EQ(least_norm_values(options_of(32), 3, 2), 2) << "the rank with the most rows";
}

TEST(NormValues, AreThoseOfAllRanksWhereTheyAreSynchronised) {
  RunOptions options = options_of(32, 1);
  options.parallel.sync_batch_norm = true;

  EXPECT_EQ(least_norm_values(options, 8, 4), 4);
  EXPECT_EQ(least_norm_values(options, 1, 4), 1);
}

TEST(NormValues, AreEnoughWithFrozenStatisticsAndForText) {
  RunOptions frozen = options_of(32, 1), text = options_of(32, 1);
  frozen.model.freeze_batch_norm = true;
  text.task = TaskName::llm;

  EXPECT_EQ(complaint(frozen, 1, 1), "");
  EXPECT_EQ(complaint(text, 1, 1), "");
}

TEST(NormValues, OfWhichThereIsOneAreRefusedWithWhatHelps) {
  for (const char* model : {"mobilenet_v2", "resnet18", "resnet50", "efficientnet_b0"}) {
    RunOptions options = options_of(32);
    options.model.name = model;
    EXPECT_EQ(complaint(options, 2, 1), "") << model;
    EXPECT_NE(complaint(options, 4, 4).find("Set data.image_size to at least 33, or run.global_batch to at least 8"),
              std::string::npos)
        << complaint(options, 4, 4);
    options.run.micro_batch = 1;
    EXPECT_NE(complaint(options, 8, 4).find("or run.micro_batch to at least 2"), std::string::npos);
  }
}

TEST(NormValues, AreCheckedBeforeTheFirstStep) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = trained_start(scratch);
  options.data.image_size = 32;
  options.run.global_batch = world().size();

  EXPECT_THROW(train(options, world()), Error);

  options.run.global_batch = 2 * world().size();
  options.run.steps = 1;
  EXPECT_EQ(train(options, world()).result.summary.status, "complete");
}

}  // namespace
}  // namespace multicard
