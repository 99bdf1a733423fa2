// Runs whose weights and state are split over their ranks, and that change these.
#include <filesystem>
#include <string>
#include <vector>

#include "support/moving.hpp"

namespace multicard {
namespace {

using namespace test;

struct Case {
  const char* name;
  Shard shard;
  TuningMethod method;
  OptimizerName optimizer = OptimizerName::adamw;
  const char* precision = "fp64";
  double tolerance = 1e-6;  ///< of losses of a run that stays on one rank
};

class MovingSplit : public testing::TestWithParam<Case> {};

RunOptions options_of(const Case& test, const ScratchFolder& scratch) {
  RunOptions options = oracle_recipe(scratch, test.precision);
  options.method.name = test.method;
  if (!options.method.has_adapters()) options.model.adapter.reset();
  options.parallel.shard = test.shard;
  options.optimizer.name = test.optimizer;
  return options;
}

// From one rank to several and back, to other numbers of them, and by way of no rank at all.
TEST_P(MovingSplit, TrainsAsARunThatIsResumedFromFiles) {
  const ScratchFolder scratch;
  write_oracle_shards(scratch);
  RunOptions options = options_of(GetParam(), scratch);
  const Outcome moved = move_through(options, {{2, 3}, {4, 3}, {0, 0}, {3, 3}, {1, 3}, {2, 3}, {1, 5}});
  options.run.output = scratch / "files";
  const Outcome resumed = resume_through(options, {{2, 3}, {4, 3}, {3, 3}, {1, 3}, {2, 3}, {1, 5}});
  options.parallel.shard = Shard::none;
  const Outcome stayed = move_through(options, {{1, 20}});

  if (!world().is_root()) return;
  expect_equal_bits(moved, resumed);
  expect_near(moved, stayed, GetParam().tolerance);
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Of, MovingSplit,
    testing::Values(Case{"State", Shard::optimizer, TuningMethod::full},
                    Case{"Weights", Shard::full, TuningMethod::full},
                    Case{"Rounded", Shard::full, TuningMethod::full, OptimizerName::adamw, "bf16", 2e-2},
                    Case{"StateOf8Bits", Shard::optimizer, TuningMethod::full, OptimizerName::adamw8bit, "bf16", 2e-2},
                    Case{"BlocksOfMoments", Shard::full, TuningMethod::full, OptimizerName::adamw8bit},
                    Case{"Base", Shard::full, TuningMethod::lora}),
    name_of);

// What is split of images in NHWC is gathered to be moved, and moves in pieces in NCHW.
TEST(MovingSplitRuns, OfImagesTrainAsThoseThatAreResumedFromFiles) {
  const ScratchFolder scratch;
  write_shards(scratch);
  const std::vector<Stage> stages{{2, 4}, {4, 4}, {1, 4}, {3, 4}, {1, 4}};
  for (const ImageLayout layout : {ImageLayout::nhwc, ImageLayout::nchw}) {
    RunOptions options = image_options(scratch);
    options.data.layout = layout;
    options.parallel.shard = Shard::full;
    options.run.output = scratch / ("files" + std::to_string(static_cast<int>(layout)));
    const Outcome moved = move_through(options, stages), resumed = resume_through(options, stages);
    options.parallel.shard = Shard::none;
    const Outcome stayed = move_through(options, {{1, 20}});

    if (!world().is_root()) continue;
    expect_equal_bits(moved, resumed);
    expect_near(moved, stayed, 1e-9);
  }
}

// Later checkpoints have replaced it; what it had chosen to split is in the state.
TEST(MovingSplitRuns, NeedNoCheckpointThatTheyHaveResumedFrom) {
  const ScratchFolder scratch;
  write_oracle_shards(scratch);
  RunOptions options = options_of({"", Shard::automatic, TuningMethod::full}, scratch);
  options.run.keep_checkpoints = 1;
  const Group two(2), all(4);
  if (two.member) {
    TaskRun first(options, "", two.ranks, {Verbosity::quiet, std::nullopt, true});
    first.advance(2, nullptr);
    finish(first);
  }
  world().barrier();
  const std::optional<std::string> checkpoint = CheckpointStore(options.run.output, 1).newest();
  ASSERT_TRUE(checkpoint);
  MovableRun movable(options, "", world(), {Verbosity::quiet, checkpoint, false});
  advance_on(movable, two, 2);
  world().barrier();
  if (world().is_root()) std::filesystem::remove_all(*checkpoint);
  world().barrier();

  advance_on(movable, all, 2);
  advance_on(movable, two, 2);

  if (!movable.run()) return;
  EXPECT_EQ(finish(*movable.run()).summary.metrics.at("train_loss").values.size(), 8U);
}

TEST(MovingSplitRuns, KeepPiecesWhereTheNextRanksCannotBeBuilt) {
  const ScratchFolder scratch;
  write_oracle_shards(scratch);
  RunOptions options = options_of({"", Shard::full, TuningMethod::full}, scratch);
  options.run.global_batch = 3;
  const Group two(2), all(4);
  MovableRun movable(options, "", world(), kQuiet);
  advance_on(movable, two, 2);
  EXPECT_THROW(movable.move_to(all.ranks), Error) << "4 ranks cannot share 3 rows";
  EXPECT_TRUE(movable.has_state());
  advance_on(movable, two, 2);
  const Outcome stayed = [&] {
    MovableRun other(options, "", world(), kQuiet);
    advance_on(other, two, 4);
    return other.run() ? finish(*other.run()) : Outcome{};
  }();

  if (!movable.run()) return;
  EXPECT_EQ(finish(*movable.run()).summary.metrics.at("train_loss").values,
            stayed.summary.metrics.at("train_loss").values);
}

}  // namespace
}  // namespace multicard
