// Ending runs whose evaluations no longer improve: at the same step on any ranks, resumed or moved.
#include "run/EarlyStopping.hpp"

#include <cmath>

#include "support/moving.hpp"

namespace multicard {
namespace {

using test::oracle_recipe;
using test::ScratchFolder;
using test::trained_start;
using test::world;

EarlyStopping patient(std::int64_t patience, double min_delta = 0) {
  EvaluateOptions options;
  options.patience = patience;
  options.min_delta = min_delta;
  return EarlyStopping(options);
}

// After how many of the scores it is due; -1: after none.
int due_after(EarlyStopping stopping, const std::vector<double>& scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    stopping.note(static_cast<std::int64_t>(i) + 1, scores[i]);
    if (stopping.is_due()) return static_cast<int>(i) + 1;
  }
  return -1;
}

TEST(EarlyStopping, CountsEvaluationsInARowThatWereNoImprovement) {
  EXPECT_EQ(due_after(patient(2), {0.5, 0.6, 0.6, 0.5, 0.9}), 4);
  EXPECT_EQ(due_after(patient(2), {0.5, 0.4, 0.6, 0.5, 0.7, 0.6}), -1);
  EXPECT_EQ(due_after(patient(1), {-3, -2, -2.5}), 3);
  EXPECT_EQ(due_after(patient(0), {0.5, 0.4, 0.3, 0.2}), -1);
  EXPECT_EQ(due_after(patient(2), {std::nan(""), std::nan("")}), 2);
}

TEST(EarlyStopping, TakesSmallImprovementsForNone) {
  EXPECT_EQ(due_after(patient(2, 0.1), {0.5, 0.55, 0.59}), 3);
  EXPECT_EQ(due_after(patient(2, 0.1), {0.5, 0.55, 0.65, 0.7}), -1);  // 0.65 is more than 0.1 above the best, 0.5
}

TEST(EarlyStopping, CountsAStepOnceAndContinuesFromItsState) {
  EarlyStopping first = patient(2);
  EXPECT_TRUE(first.state().empty());
  for (const auto& [step, score] : {std::pair{4, 0.5}, {8, 0.4}, {8, 0.4}})
    first.note(step, score);
  EXPECT_FALSE(first.is_due());

  EarlyStopping second = patient(2), patienter = patient(3);
  for (EarlyStopping* next : {&second, &patienter}) {
    next->resume(first.state());
    next->note(8, 0.1);
    next->note(12, 0.5);
  }

  EXPECT_TRUE(second.is_due());
  EXPECT_FALSE(patienter.is_due());
  EXPECT_EQ(second.text(), "2 evaluations since step 4 were not better");
  EXPECT_EQ(second.state().at("early_stopping_best"), 0.5);
}

// An image run of 9 steps, each with an evaluation, in which no accuracy can improve enough.
RunOptions impatient(const ScratchFolder& scratch) {
  RunOptions options = trained_start(scratch);
  options.model.freeze_batch_norm = true;
  options.run.steps = 9;
  options.evaluate.every_steps = 1;
  options.evaluate.patience = 2;
  options.evaluate.min_delta = 1;
  return options;
}

TEST(EarlyStoppingRun, IsCompleteAndSaysWhere) {
  const ScratchFolder scratch;
  test::write_shards(scratch);
  RunOptions options = impatient(scratch);

  const RunSummary summary = test::train(options, world()).result.summary;

  EXPECT_EQ(summary.status, "complete");
  EXPECT_EQ(summary.integers.at("early_stop_step"), 3);
  EXPECT_EQ(summary.metrics.at("train_loss").values.size(), 3u);
  EXPECT_EQ(summary.metrics.at("eval_accuracy").steps, (std::vector<std::int64_t>{1, 2, 3}));
  options.evaluate.patience = 9;
  const RunSummary whole = test::train(options, world()).result.summary;
  EXPECT_EQ(whole.metrics.at("train_loss").values.size(), 9u);
  EXPECT_FALSE(whole.integers.contains("early_stop_step"));
  EXPECT_EQ(std::vector<double>(whole.metrics.at("train_loss").values.begin(),
                                whole.metrics.at("train_loss").values.begin() + 3),
            summary.metrics.at("train_loss").values);
}

TEST(EarlyStoppingRun, CountsTheEvaluationBeforeTheFirstStep) {
  const ScratchFolder scratch;
  test::write_shards(scratch);
  RunOptions options = impatient(scratch);
  options.evaluate.at_start = true;

  EXPECT_EQ(test::train(options, world()).result.summary.integers.at("early_stop_step"), 2);
}

/// The run from the newest checkpoint of its output.
RunSummary resumed(const RunOptions& options) {
  const std::string checkpoint = CheckpointStore(options.run.output, 1).newest().value();
  TaskRun training(options, "", world(), {Verbosity::quiet, checkpoint});
  return training.run(nullptr).summary;
}

TEST(EarlyStoppingRun, EndsAtTheSameStepWhenItIsResumed) {
  const ScratchFolder scratch;
  test::write_shards(scratch);
  RunOptions options = impatient(scratch);
  options.run.keep_checkpoints = 1;
  {
    TaskRun training(options, "", world(), {Verbosity::quiet, std::nullopt});
    training.advance(2, nullptr);
    EXPECT_EQ(training.finish(nullptr).summary.status, "stopped");
  }

  EXPECT_EQ(resumed(options).integers.at("early_stop_step"), 3);
  EXPECT_EQ(resumed(options).integers.at("early_stop_step"), 3);  // nothing is left to do
  options.evaluate.patience = 4;
  EXPECT_EQ(resumed(options).integers.at("early_stop_step"), 5);
}

TEST(EarlyStoppingRun, EndsAtTheSameStepWhenItIsMoved) {
  const ScratchFolder scratch;
  test::write_shards(scratch);
  const RunOptions options = impatient(scratch);

  const test::Outcome outcome = test::move_through(options, {{1, 2}, {std::min(2, world().size()), 5}});

  if (outcome.summary.name.empty()) return;  // on a rank that the run has not moved to
  EXPECT_EQ(outcome.summary.status, "complete");
  EXPECT_EQ(outcome.summary.integers.at("early_stop_step"), 3);
}

TEST(EarlyStoppingRun, EndsLanguageRunsByTheirLoss) {
  const ScratchFolder scratch;
  test::write_oracle_shards(scratch);
  RunOptions options = oracle_recipe(scratch, "fp32");
  options.data.test = scratch / "oracle-*.h5";
  options.evaluate.limit = 8;
  options.evaluate.every_steps = 2;
  options.evaluate.patience = 1;
  options.run.steps = 8;

  const RunSummary improving = test::train(options, world()).result.summary;
  options.evaluate.min_delta = 100;
  const RunSummary stopped = test::train(options, world()).result.summary;

  EXPECT_EQ(improving.metrics.at("train_loss").values.size(), 8u);
  EXPECT_EQ(stopped.integers.at("early_stop_step"), 4);
}

EvaluateOptions options_of(const std::string& evaluate, const std::string& test = "test: t.h5, ") {
  const std::string deck = "task: image\ndata: {" + test + "train: t.h5}\nevaluate: ";
  return read_run_options(Deck::parse(deck + evaluate, "x.yaml")).evaluate;
}

TEST(EarlyStoppingOptions, NeedEvaluations) {
  const EvaluateOptions options = options_of("{patience: 3, min_delta: 0.01}");

  EXPECT_EQ(options.patience, 3);
  EXPECT_EQ(options.min_delta, 0.01);
  EXPECT_EQ(options_of("{}").patience, 0);
  EXPECT_THROW(options_of("{patience: 3}", ""), UsageError);
  EXPECT_THROW(options_of("{patience: 3, every_epochs: 0}"), UsageError);
  EXPECT_THROW(options_of("{min_delta: 0.1}"), UsageError);
  EXPECT_THROW(options_of("{patience: -1}"), UsageError);
}

}  // namespace
}  // namespace multicard
