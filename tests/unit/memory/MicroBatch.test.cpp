// run.micro_batch: auto.

#include <gtest/gtest.h>

#include "support/language_run.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

RunOptions options_of(const std::string& run) {
  return read_run_options(Deck::parse("{run: {" + run + "}}", "deck"));
}

TEST(MicroBatch, AutoIsAValueOfItsOwn) {
  EXPECT_TRUE(options_of("micro_batch: auto").run.chooses_micro_batch);
  EXPECT_FALSE(options_of("micro_batch: auto").run.micro_batch.has_value());
  for (const char* run : {"micro_batch: 3", "micro_batch: null", "steps: 1"})
    EXPECT_FALSE(options_of(run).run.chooses_micro_batch) << run;
  EXPECT_EQ(options_of("micro_batch: 3").run.micro_batch, 3);
  EXPECT_THROW(options_of("micro_batch: some"), UsageError);
  EXPECT_THROW(options_of("micro_batch: 0"), UsageError);
  const Deck deck = with_defaults(Deck::parse("{run: {micro_batch: auto}}", "deck"));
  EXPECT_EQ(deck.get_text("run.micro_batch"), "auto");
}

// Rows are few and small: they all fit, and the ranks agree although their shares differ.
TEST(MicroBatch, AllRowsOfTheLargestShareFit) {
  const ScratchFolder scratch;
  test::write_oracle_shards(scratch);
  RunOptions options = test::oracle_recipe(scratch, "fp32");
  options.run.steps = 2;
  options.run.chooses_micro_batch = true;
  TaskRun run(options, "", world(), {Verbosity::quiet});
  const RunResult result = run.run(nullptr);

  ASSERT_FALSE(result.failure);
  EXPECT_EQ(result.summary.integers.at("micro_batch"), (4 + world().size() - 1) / world().size());
}

TEST(MicroBatch, TheRowsThatTheDeckSaysAreRecorded) {
  const ScratchFolder scratch;
  test::write_oracle_shards(scratch);
  RunOptions options = test::oracle_recipe(scratch, "fp32");
  options.run.steps = 1;
  options.run.micro_batch = 1;
  TaskRun run(options, "", world(), {Verbosity::quiet});
  EXPECT_EQ(run.run(nullptr).summary.integers.at("micro_batch"), 1);
}

}  // namespace
}  // namespace multicard
