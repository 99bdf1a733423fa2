#include "train/CheckpointWriter.hpp"

#include <chrono>
#include <fstream>
#include <limits>
#include <thread>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "state/TensorFile.hpp"
#include "support/test_world.hpp"
#include "train/CheckpointRecords.hpp"

namespace multicard {
namespace {

namespace fs = std::filesystem;
using test::ScratchFolder;
using test::world;

/// Who has the weights.
enum class Holding { all_ranks, parts };

/// A training whose only weight is the number of completed steps.
class Training {
 public:
  Training(const std::string& output, std::int64_t first_step, Holding holding)
      : writer_(output, 2, world()),
        weight_(at::full({3}, static_cast<double>(first_step))),
        done_(first_step),
        holding_(holding) {
    record_.first_step = first_step;
  }

  CheckpointWriter& writer() { return writer_; }
  at::Tensor& weight() { return weight_; }

  void step() {
    StepTimes times;
    times.step = static_cast<double>(done_) + 0.1 * world().rank();
    record_.steps.push_back(times);
    record_.samples.push_back(done_);
    metrics_["train_loss"].values.push_back(-static_cast<double>(done_));
    metrics_["train_loss"].steps.push_back(done_);
    weight_.fill_(static_cast<double>(++done_));
  }

  void save(std::optional<double> best = std::nullopt) {
    writer_.copy({part()});
    RunSummary summary;
    summary.name = "main";
    summary.segments = {{0, world().size()}};
    writer_.write({{done_, done_ * 8, 8, "a: 1\n"}, summary, best}, record_, metrics_);
  }

  void continue_from(const std::string& records) {
    const RunData before = ResultsFile::open(records).run("main");
    writer_.resume(std::nullopt, std::nullopt, history_of(before));
    metrics_ = before.summary.metrics;
  }

 private:
  CheckpointPart part() const {
    if (holding_ == Holding::all_ranks) return {kModelFile, {{"w", weight_}}};
    const std::int64_t each = weight_.numel();
    const at::Tensor whole = at::empty({each * world().size()}, weight_.options().device(at::kMeta));
    return {kModelFile, {{"w", whole}}, {{"w", each * world().rank(), weight_}}, true};
  }

  CheckpointWriter writer_;
  RankRecord record_;
  std::map<std::string, MetricSeries> metrics_;
  at::Tensor weight_;
  std::int64_t done_;
  Holding holding_;
};

class Written : public testing::TestWithParam<Holding> {};

INSTANTIATE_TEST_SUITE_P(CheckpointWriter, Written, testing::Values(Holding::all_ranks, Holding::parts),
                         [](const auto& test) { return test.param == Holding::parts ? "InPieces" : "Whole"; });

void expect_records(const std::string& path, std::size_t num_steps) {
  if (!world().is_root()) return;
  const RunData run = ResultsFile::open(path).run("main");
  ASSERT_EQ(run.num_steps, num_steps);
  ASSERT_EQ(run.ranks, world().size());
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(run.ranks); ++rank)
    for (std::size_t step = 0; step < num_steps; ++step) {
      EXPECT_EQ(run.times.at("step").at(rank, step), static_cast<double>(step) + 0.1 * static_cast<double>(rank));
      EXPECT_EQ(run.counts.at("samples").at(rank, step), static_cast<std::int64_t>(step));
    }
  EXPECT_EQ(run.summary.metrics.at("train_loss").values.size(), num_steps);
}

TEST(CheckpointCopies, AllRanksKnowThatTheCopiesNeedTooMuchMemory) {
  const ScratchFolder scratch;
  CheckpointWriter writer(scratch / "run", 2, world());
  float value = 1;
  const at::Tensor sparse = at::from_blob(&value, {2}, {std::int64_t{1} << 48}, at::kFloat);  // copies keep strides
  writer.copy({{kModelFile, {{"w", sparse}}}});
  try {
    writer.write({{1, 8, 8, "a: 1\n"}, {}, std::nullopt}, {}, {});
    FAIL() << "a copy of 1 PiB";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
    EXPECT_EQ(error.scope() == Scope::all_ranks, !world().is_null());
    EXPECT_NE(std::string(error.what()).find("out of memory"), std::string::npos) << error.what();
  }
}

TEST_P(Written, SavesWhatStoodWhenItWasCopied) {
  const ScratchFolder scratch;
  Training training(scratch / "run", 0, GetParam());
  for (int i = 0; i < 6; ++i) {
    training.step();
    if (i % 2 == 1) training.save();
  }
  training.step();
  training.writer().finish();

  EXPECT_EQ(training.writer().take_written().size(), world().is_root() ? 3u : 0u);
  const std::string newest = *training.writer().store().newest();
  EXPECT_EQ(newest, scratch / "run/checkpoints/step_00000006");
  EXPECT_EQ(TensorFile(CheckpointStore::model_file(newest)).load("w")[0].item<double>(), 6);
  expect_records(records_file(scratch / "run", 6), 6);
  expect_records(records_file(scratch / "run", 4), 4);
  EXPECT_FALSE(fs::exists(records_file(scratch / "run", 2)));  // its checkpoint is gone
  world().barrier();
}

TEST_P(Written, GoesOnWithTheRecordsOfAnEarlierPart) {
  const ScratchFolder scratch;
  {
    Training training(scratch / "run", 0, GetParam());
    for (int i = 0; i < 3; ++i)
      training.step();
    training.save();
    training.writer().finish();
  }
  Training training(scratch / "run", 3, GetParam());
  training.continue_from(records_file(scratch / "run", 3));
  for (int i = 0; i < 2; ++i) {
    training.step();
    training.save();
  }
  training.writer().finish();

  expect_records(records_file(scratch / "run", 4), 4);
  expect_records(records_file(scratch / "run", 5), 5);
  world().barrier();
}

/// Puts a file where the folder of records was, so that no checkpoint can be written.
void block_writing(const ScratchFolder& scratch) {
  if (world().is_root()) {
    fs::rename(scratch / "run/records", scratch / "run/aside");
    std::ofstream(scratch / "run/records") << "in the way";
  }
  world().barrier();
}

void unblock_writing(const ScratchFolder& scratch) {
  world().barrier();
  if (world().is_root()) {
    fs::remove(scratch / "run/records");
    fs::rename(scratch / "run/aside", scratch / "run/records");
  }
  world().barrier();
}

TEST_P(Written, AFailedOneLeavesNoRecords) {
  const ScratchFolder scratch;
  Training training(scratch / "run", 0, GetParam());
  training.step();
  training.save();
  training.writer().finish();
  if (world().is_root()) std::ofstream(scratch / "run/checkpoints/step_00000002") << "another's";
  world().barrier();

  training.step();
  training.save();

  EXPECT_THROW(training.writer().finish(), Error);
  EXPECT_FALSE(fs::exists(records_file(scratch / "run", 2)));
  expect_records(records_file(scratch / "run", 1), 1);
  world().barrier();
}

TEST_P(Written, AFailedOneIsAnErrorOnlyWhenItIsTheLast) {
  const ScratchFolder scratch;
  Training training(scratch / "run", 0, GetParam());
  training.step();
  training.save();
  training.writer().finish();
  block_writing(scratch);
  training.step();
  training.save();
  training.step();
  training.save();
  try {
    training.writer().finish();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_EQ(error.scope(), Scope::all_ranks);
  }
  EXPECT_EQ(*training.writer().store().newest(), scratch / "run/checkpoints/step_00000001");

  unblock_writing(scratch);
  training.step();
  training.save();
  EXPECT_NO_THROW(training.writer().finish());
  EXPECT_EQ(*training.writer().store().newest(), scratch / "run/checkpoints/step_00000004");
  expect_records(records_file(scratch / "run", 4), 4);
  world().barrier();
}

TEST_P(Written, TheBestIsTheBestOfWhatIsWritten) {
  const ScratchFolder scratch;
  Training training(scratch / "run", 0, GetParam());
  CheckpointWriter& writer = training.writer();
  EXPECT_TRUE(writer.would_be_best(0)) << "nothing is written yet";
  training.step();
  training.save(0.5);
  EXPECT_FALSE(writer.would_be_best(0.5)) << "it is at least on its way";
  writer.finish();
  EXPECT_FALSE(writer.would_be_best(0.5));
  EXPECT_TRUE(writer.would_be_best(0.6));

  block_writing(scratch);
  training.step();
  training.save(0.9);
  writer.settle();
  unblock_writing(scratch);
  EXPECT_TRUE(writer.would_be_best(0.6)) << "the one of 0.9 could not be written";
  training.step();
  training.save(0.6);
  training.step();
  training.save();
  EXPECT_FALSE(writer.would_be_best(0.6)) << "others come and go";
  writer.finish();
  if (world().is_root()) {
    ASSERT_TRUE(writer.store().best());
    EXPECT_EQ(writer.store().best()->step, 3);
    EXPECT_EQ(writer.store().best()->score, 0.6);
  }
  world().barrier();
}

TEST_P(Written, ResumesWithTheBestAndTheOrigin) {
  const ScratchFolder scratch;
  const std::string first = scratch / "run/checkpoints/step_00000001";
  const std::string second = scratch / "run/checkpoints/step_00000002";
  {
    Training training(scratch / "run", 0, GetParam());
    training.step();
    training.save(0.5);
    training.step();
    training.save(0.8);
    training.writer().finish();
  }
  const TrainerState state = CheckpointStore::read_state(first);
  world().barrier();
  Training again(scratch / "run", 1, GetParam()), other(scratch / "other", 1, GetParam());
  again.writer().resume(CheckpointStore::origin_of(first), BestCheckpoint{1, 0.5}, std::nullopt);
  other.writer().resume(std::nullopt, std::nullopt, std::nullopt);
  EXPECT_TRUE(again.writer().would_be_best(0.6));
  EXPECT_FALSE(again.writer().would_be_best(0.5));
  EXPECT_TRUE(other.writer().would_be_best(0.1)) << "its output holds none";

  again.step();
  again.save();
  again.writer().finish();
  if (world().is_root()) {
    const auto origin = CheckpointStore::read_state(second).origin;
    ASSERT_TRUE(origin);
    EXPECT_EQ(origin->sha256, CheckpointStore::origin_of(first).sha256);
    EXPECT_FALSE(state.origin);
  }
  world().barrier();
}

TEST_P(Written, ValuesThatAreNotFiniteStopAllRanksAtTheNext) {
  const ScratchFolder scratch;
  Training training(scratch / "run", 0, GetParam());
  training.step();
  training.save();
  training.step();
  if (world().rank() == (GetParam() == Holding::parts ? world().size() - 1 : 0))
    training.weight().fill_(std::numeric_limits<double>::infinity());
  training.save();
  training.step();
  try {
    training.save();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::numerical);
    EXPECT_EQ(error.scope(), Scope::all_ranks);
  }
  training.writer().settle();
  EXPECT_EQ(*training.writer().store().newest(), scratch / "run/checkpoints/step_00000001");
  world().barrier();
}

TEST(CheckpointWriter, CompletesPiecesWhenNoRankIsWriting) {
  const ScratchFolder scratch;
  Training training(scratch / "run", 0, Holding::parts);
  training.step();
  training.save();
  CheckpointWriter& writer = training.writer();
  while (world().allreduce(writer.is_writing() ? 1 : 0, ReduceOp::max) > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));

  writer.complete();
  writer.complete();  // has nothing to do

  std::vector<WrittenCheckpoint> written;
  while (world().is_root() && written.empty()) {
    writer.poll();
    written = writer.take_written();
  }
  const std::string newest = scratch / "run/checkpoints/step_00000001";
  world().barrier();
  EXPECT_EQ(*writer.store().newest(), newest);
  EXPECT_NO_THROW(CheckpointStore::verify(newest));
  EXPECT_EQ(TensorFile(CheckpointStore::model_file(newest)).load("w").numel(), 3 * world().size());
  world().barrier();
}

}  // namespace
}  // namespace multicard
