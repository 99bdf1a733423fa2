// What moves with a run, whichever ranks it goes to: files that others watch, checkpoints, answers, lines, scans.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/Log.hpp"
#include "comm/Watchdog.hpp"
#include "io/Glob.hpp"
#include "io/Hdf5.hpp"
#include "support/moving.hpp"

namespace multicard {
namespace {

using namespace test;
namespace fs = std::filesystem;

struct Part {
  std::set<int> ranks;  ///< none: the run waits in memory
  std::int64_t num_steps;
};

/// Collective over the world; `between` is called by all ranks where the run waits in memory. The outcome as the rank
/// that ends the run has it.
Outcome move_among(
    const RunOptions& options, const std::vector<Part>& parts, const TaskRunOptions& task_options = kQuiet,
    const std::function<void()>& between = [] {}) {
  std::map<std::set<int>, Group> groups;
  MovableRun movable(options, "", world(), task_options);
  for (const auto& [ranks, num_steps] : parts) {
    advance_on(movable, groups.try_emplace(ranks, ranks).first->second, num_steps);
    if (ranks.empty()) between();
  }
  return movable.run() ? finish(*movable.run()) : Outcome{};
}

/// The first does not begin with rank 0, those of one rank have the null communicator, none but the last has rank 0 as
/// its root.
const std::vector<Part> kParts{{{1, 3}, 3}, {{2}, 4}, {{1, 2, 3}, 4}, {{2, 3}, 4}, {{0}, 5}};
const std::vector<Stage> kSameSizes{{2, 3}, {1, 4}, {3, 4}, {2, 4}, {1, 5}};

TEST(MovingRanks, AnyGroupsTrainAsTheFirstRanksDo) {
  const ScratchFolder scratch;
  write_shards(scratch);
  for (const char* strategy : {"ddp-ds", "dp"}) {
    SCOPED_TRACE(strategy);
    RunOptions options = image_options(scratch);
    options.parallel.strategy = value_of<StrategyName>(strategy, kStrategyWords).value();
    const Outcome moved = move_among(options, kParts);
    options.run.output = scratch / strategy;
    const Outcome resumed = resume_through(options, kSameSizes);

    if (!world().is_root()) continue;
    expect_equal_bits(moved, resumed);
    expect_rows(moved, kSameSizes, 8);
  }
}

/// What a scan of `pattern` would find no longer holds.
void spoil_what_is_scanned(const std::string& pattern) {
  if (world().is_root())
    for (const std::string& path : expand_glob(pattern)) {
      Hdf5File file = Hdf5File::open_update(path);
      file.write_attribute("/", "format", std::string("nothing"));
      for (const char* labels : {"/labels"})
        if (file.exists(labels)) file.write_slab<std::int32_t>(labels, {0}, {1}, std::vector<std::int32_t>{999});
      if (file.exists("/offsets")) file.write_slab<std::uint64_t>("/offsets", {0}, {1}, std::vector<std::uint64_t>{9});
    }
  world().barrier();
}

const std::vector<Part> kWaiting{{{1, 3}, 3}, {{}, 0}, {{0, 2}, 3}, {{2}, 2}, {{0, 1}, 1}};
const std::vector<Stage> kWaitingSizes{{2, 3}, {2, 3}, {1, 2}, {2, 1}};

TEST(MovingRanks, ImagesAreNotScannedAgain) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.data.test = scratch / "test*.h5";
  options.run.steps = 9;
  options.run.output = scratch / "files";
  const Outcome resumed = resume_through(options, kWaitingSizes);
  const Outcome moved = move_among(options, kWaiting, kQuiet, [&] { spoil_what_is_scanned(scratch / "t*.h5"); });

  if (world().is_root()) {
    expect_equal_bits(moved, resumed);
    EXPECT_EQ(moved.summary.metrics.at("eval_loss").values, resumed.summary.metrics.at("eval_loss").values);
  }
  EXPECT_THROW(TaskRun(options, "", world(), kQuiet), Error) << "nothing was spoilt";
}

TEST(MovingRanks, TextIsNotScannedAgain) {
  const ScratchFolder scratch;
  write_oracle_shards(scratch);
  RunOptions options = oracle_recipe(scratch, "fp64");
  options.data.packing = true;
  options.data.max_length = 100;  // some are cut
  options.data.test = scratch / "oracle-00000*.h5";
  options.evaluate.every_steps = 4;
  options.run.steps = 9;
  options.run.output = scratch / "files";
  const Outcome resumed = resume_through(options, kWaitingSizes);
  const Outcome moved = move_among(options, kWaiting, kQuiet, [&] { spoil_what_is_scanned(scratch / "oracle-*.h5"); });

  if (world().is_root()) {
    expect_equal_bits(moved, resumed);
    EXPECT_EQ(moved.summary.metrics.at("eval_loss").values, resumed.summary.metrics.at("eval_loss").values);
  }
  EXPECT_THROW(TaskRun(options, "", world(), kQuiet), Error) << "nothing was spoilt";
}

/// Names in a folder, sorted.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(MovingRanks, TheSameCheckpointsStandAndTheSameIsTheBest) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.data.test = scratch / "test*.h5";
  options.evaluate.every_epochs = 0;
  options.evaluate.every_steps = 2;
  options.run.keep_checkpoints = 2;
  options.run.keep_best = true;
  options.run.checkpoint_every = 5;
  options.run.output = scratch / "moved";
  const Outcome moved = move_among(options, kParts);
  options.run.output = scratch / "stayed";
  const Outcome stayed = move_among(options, {{{0}, 20}});

  if (!world().is_root()) return;
  expect_near(moved, stayed, 1e-9);
  EXPECT_EQ(names_in(scratch / "moved/checkpoints"), names_in(scratch / "stayed/checkpoints"));
  const CheckpointStore here(scratch / "moved", 2), there(scratch / "stayed", 2);
  ASSERT_TRUE(here.best() && there.best());
  EXPECT_EQ(here.best()->step, there.best()->step);
  EXPECT_EQ(here.best()->score, there.best()->score);
  CheckpointStore::verify(*here.newest());
}

TEST(MovingRanks, WatchedFilesHaveEveryStepOnce) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.run.log_every = 1;
  options.run.json_lines = true;
  options.run.tensorboard = true;
  const Outcome moved = move_among(options, kParts);

  if (!world().is_root()) return;
  std::vector<std::int64_t> steps;
  std::vector<double> losses;
  std::ifstream file(options.run.output + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    if (!json.contains("train_loss")) continue;
    steps.push_back(json.at("step").get<std::int64_t>());
    losses.push_back(json.at("train_loss").get<double>());
  }
  const MetricSeries& recorded = moved.summary.metrics.at("train_loss");
  EXPECT_EQ(steps, recorded.steps);
  ASSERT_EQ(losses.size(), recorded.values.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], recorded.values[i], 1e-6) << i;
  EXPECT_EQ(names_in(options.run.output + "/tensorboard").size(), kParts.size()) << "a file for each part";
}

TEST(MovingRanks, AnswersOfBeforeComeFromTheRanksThatBegan) {
  const ScratchFolder scratch;
  write_oracle_shards(scratch);
  RunOptions options = oracle_recipe(scratch, "fp64");
  options.evaluate.prompts = {"Once upon a time", "The cat"};
  options.evaluate.max_new = 8;
  options.run.steps = 6;
  const Outcome moved = move_among(options, {{{1, 3}, 2}, {{2}, 2}, {{0, 3}, 2}});
  const Outcome stayed = move_among(options, {{{0}, 6}});

  if (!world().is_root()) return;
  const Table& here = moved.summary.tables.at("answers");
  EXPECT_EQ(here.text, stayed.summary.tables.at("answers").text);
  for (const char* column : {"before", "after"})
    for (const std::string& answer : here.text.at(column))
      EXPECT_FALSE(answer.empty()) << column;
}

/// Collective over the world. Four steps on the ranks 1 and 3 from `start`, the rest on rank 2, which gets the outcome;
/// between them the run moves in memory, or through files where its deck keeps checkpoints.
Outcome scaled_run(const RunOptions& options, const TrainingState& start) {
  const Group two(std::set<int>{1, 3}), one(std::set<int>{2});
  const bool by_files = options.run.keep_checkpoints > 0;
  TrainingState state;
  if (two.member) {
    TaskRun training(options, "", two.ranks, kQuiet, start);
    training.advance(4, nullptr);
    if (by_files) training.checkpoint();
    state = training.collect();
  }
  broadcast(state, world(), 1);
  if (!one.member) return {};
  if (!by_files) {
    TaskRun training(options, "", one.ranks, kQuiet, state);
    training.advance(20, nullptr);
    return finish(training);
  }
  TaskRun training(options, "", one.ranks, {Verbosity::quiet, CheckpointStore(options.run.output, 1).newest()});
  training.advance(20, nullptr);
  return finish(training);
}

TEST(MovingRanks, ALossScaleThatHasChangedStaysSo) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.precision = Precision::fp16;
  TrainingState start = TaskRun(options, "", world(), kQuiet).collect();
  broadcast(start, world(), 0);
  constexpr double kTooMuch = 0x1p18;  // gradients overflow to infinity; far above they would be NaN
  start.trainer.extra.at("loss_scale") = kTooMuch;
  const Outcome moved = scaled_run(options, start);
  options.run.output = scratch / "files";
  options.run.keep_checkpoints = 1;
  const Outcome resumed = scaled_run(options, start);

  if (world().rank() != 2) return;
  const std::vector<double>& scales = moved.summary.metrics.at("loss_scale").values;
  ASSERT_EQ(scales.size(), 20u);
  EXPECT_EQ(scales[0], kTooMuch);
  EXPECT_LT(scales[4], kTooMuch) << "it has changed before the move";
  EXPECT_EQ(moved.summary.metrics.at("skipped").values.back(), 0);
  EXPECT_EQ(scales, resumed.summary.metrics.at("loss_scale").values);
  EXPECT_EQ(moved.summary.metrics.at("skipped").values, resumed.summary.metrics.at("skipped").values);
  expect_equal_bits(moved, resumed);
}

TEST(MovingRanks, ConcurrentRunsHaveTheirOwnTimeouts) {
  const ScratchFolder scratch;
  write_shards(scratch);
  const int number = world().rank() % 2;
  const Communicator half = world().split(number, world().rank());
  const double before = world().watchdog()->limit();
  RunOptions options = image_options(scratch);
  options.run.timeout_s = number == 0 ? 40 : 400;

  TaskRun training(options, "", half, kQuiet);
  training.advance(1, nullptr);

  EXPECT_EQ(half.watchdog()->limit(), options.run.timeout_s);
  EXPECT_EQ(world().watchdog()->limit(), before);
}

int count_in(const std::string& text, const std::string& words) {
  int count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    ++count;
  return world().allreduce(count, ReduceOp::sum);
}

TEST(MovingRanks, EveryLineComesOutOnce) {
  const ScratchFolder scratch;
  write_shards(scratch);
  RunOptions options = image_options(scratch);
  options.model.classes = 12;  // not those of the weights, which is worth a line
  options.run.log_every = 1;
  options.run.steps = 8;
  options.data.test = scratch / "test*.h5";
  options.evaluate.every_epochs = 0;
  options.evaluate.every_steps = 4;

  set_log_level(LogLevel::info);
  testing::internal::CaptureStderr();
  move_among(options, {{{1, 3}, 3}, {{}, 0}, {{2}, 2}, {{0, 2, 3}, 3}}, {Verbosity::normal, std::nullopt, false});
  const std::string said = testing::internal::GetCapturedStderr();

  for (int step = 1; step <= 8; ++step)
    EXPECT_EQ(count_in(said, "step " + std::to_string(step) + "/8"), 1) << step;
  for (const char* words : {"step 4, epoch", "step 8, epoch", "the classifier of"})
    EXPECT_EQ(count_in(said, words), 1) << words;
}

}  // namespace
}  // namespace multicard
