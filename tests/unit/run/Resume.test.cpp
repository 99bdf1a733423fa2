// What a checkpoint says of the run that is resumed from it.
#include "run/Resume.hpp"

#include <algorithm>
#include <filesystem>

#include "support/task_run.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::trained_start;
using test::world;
using test::write_shards;

/// Six steps, each with an evaluation and a checkpoint that stays.
RunOptions checkpointed(const ScratchFolder& scratch) {
  RunOptions options = trained_start(scratch);
  options.model.freeze_batch_norm = true;
  options.run.steps = 6;
  options.run.keep_checkpoints = 6;
  options.run.checkpoint_every = 1;
  options.run.keep_best = true;
  options.evaluate.every_steps = 1;
  return options;
}

std::string folder_of(const RunOptions& options, std::int64_t step) {
  return options.run.output + "/checkpoints/step_0000000" + std::to_string(step);
}

class Resume : public testing::Test {
 protected:
  Resume() : options_(checkpointed(write(scratch_))), trained_(test::train(options_, world())) {}

  /// The state of the checkpoint of `step`, as a run with `options` sees it.
  TrainingState from(std::int64_t step, const RunOptions& options) {
    TrainingSetup setup(options, world());
    const CheckpointStore store(options.run.output, options.run.keep_checkpoints);
    return resume_from(folder_of(options_, step), setup, store);
  }

  /// The step of the best evaluation among the first `num_steps`.
  std::int64_t best_of_all() const {
    const std::vector<double>& scores = trained_.result.summary.metrics.at("eval_accuracy").values;
    return std::max_element(scores.begin(), scores.end()) - scores.begin() + 1;
  }

  ScratchFolder scratch_;
  RunOptions options_;
  test::Trained trained_;

 private:
  static const ScratchFolder& write(const ScratchFolder& scratch) {
    write_shards(scratch);
    return scratch;
  }
};

TEST_F(Resume, ABestCheckpointThatComesLaterIsAnAbandonedFuture) {
  const std::int64_t best = best_of_all();
  for (const std::int64_t step : {std::int64_t{1}, best, std::int64_t{6}}) {
    const TrainingState state = from(step, options_);
    if (!world().is_root()) continue;
    ASSERT_EQ(state.best.has_value(), step >= best) << step;
    if (state.best) {
      EXPECT_EQ(state.best->step, best);
    }
  }
}

TEST_F(Resume, AnotherOutputHasNeitherBestNorCheckpoints) {
  RunOptions elsewhere = options_;
  elsewhere.run.output = scratch_ / "elsewhere";
  const TrainingState own = from(6, options_), foreign = from(6, elsewhere);

  EXPECT_EQ(own.saved_step, 6);
  EXPECT_EQ(foreign.saved_step, -1);
  EXPECT_FALSE(foreign.best);
}

TEST_F(Resume, ARunThatWasToldToBeginFromACheckpointKnowsItsOrigin) {
  RunOptions named = options_;
  named.run.resume = {ResumeMode::from_path, folder_of(options_, 3)};
  const TrainingState told = from(3, named), newest = from(3, options_);

  if (!world().is_root()) return;
  ASSERT_TRUE(told.trainer.origin);
  EXPECT_EQ(told.trainer.origin->sha256, CheckpointStore::origin_of(named.run.resume.path).sha256);
  EXPECT_FALSE(newest.trainer.origin);
}

TEST_F(Resume, TheRecordsOfTheStepsBeforeComeAlong) {
  const TrainingState state = from(4, options_);

  ASSERT_TRUE(state.history);
  EXPECT_EQ(state.history->num_steps, 4);
  EXPECT_EQ(state.history->rows.size(), static_cast<std::size_t>(world().size()));
  const std::vector<double>& losses = trained_.result.summary.metrics.at("train_loss").values;
  EXPECT_EQ(state.history->metrics.at("train_loss").values, std::vector<double>(losses.begin(), losses.begin() + 4));
}

TEST_F(Resume, RefusesAnotherBatchAndOtherData) {
  RunOptions batch = options_, data = options_, shorter = options_;
  batch.run.global_batch = 4;
  data.data.limit = 30;
  shorter.run.steps = 2;
  for (const RunOptions& changed : {batch, data, shorter})
    try {
      from(4, changed);
      ADD_FAILURE() << "no error was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_EQ(error.scope(), Scope::all_ranks);
    }
}

}  // namespace
}  // namespace multicard
