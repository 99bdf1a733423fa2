#include "train/History.hpp"

#include <cmath>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "results/ResultsReader.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;

/// A rank's record of `count` steps that last `seconds` each.
RankRecord record_of(std::int64_t first_step, std::size_t count, double seconds) {
  RankRecord record;
  record.first_step = first_step;
  record.steps.resize(count);
  for (StepTimes& step : record.steps)
    step.step = seconds;
  record.samples.assign(count, 4);
  record.epochs["train"] = {seconds * static_cast<double>(count)};
  record.memory["host_peak_bytes"] = static_cast<std::int64_t>(1000 * seconds);
  record.communication["all_reduce"] = {static_cast<std::int64_t>(count), 100, 100.0, 0.1, 0.05};
  return record;
}

/// Writes a part that two ranks ran and reads it back.
RunData two_ranks(const std::string& path) {
  RunSummary summary;
  summary.name = "main";
  summary.metrics["train_loss"] = {{3.0, 2.0}, {0, 1}};
  summary.segments = {{0, 2}};
  write_results(path, Communicator::null(), Provenance{}, summary,
                RankRows{{0, record_of(0, 2, 1.0)}, {1, record_of(0, 2, 2.0)}});
  return ResultsFile::open(path).run("main");
}

TEST(History, GoesOnWithTheSameRanks) {
  const ScratchFolder scratch;
  const History history = part_of(history_of(two_ranks(scratch / "a.h5")), 1, 2);

  const RankRows rows = continue_rows(history, record_of(2, 3, 5.0), 1);

  ASSERT_EQ(rows.size(), 1u);
  const RankRecord& mine = rows.at(1);
  ASSERT_EQ(mine.steps.size(), 5u);
  EXPECT_EQ(mine.steps[1].step, 2.0);
  EXPECT_EQ(mine.steps[2].step, 5.0);
  EXPECT_EQ(mine.samples, (std::vector<std::int64_t>{4, 4, 4, 4, 4}));
  EXPECT_EQ(mine.first_step, 0);
  EXPECT_EQ(mine.memory.at("host_peak_bytes"), 5000);
  EXPECT_EQ(mine.communication.at("all_reduce").calls, 5);
  EXPECT_DOUBLE_EQ(mine.epochs.at("train")[0], 4.0 + 15.0);
  EXPECT_EQ(history.metrics.at("train_loss").values.size(), 2u);
}

TEST(History, SamplesOfARankGoOnAfterItsOwn) {
  const ScratchFolder scratch;
  RankRecord longer = record_of(0, 2, 1.0), shorter = record_of(0, 2, 2.0), since = record_of(2, 1, 5.0);
  longer.resources = {{"time_s", {10, 11, 12}}, {"gpu_power_w", {200, 210, 220}}};
  shorter.resources = {{"time_s", {10}}};
  since.resources = {{"time_s", {20, 21}}};
  RunSummary summary;
  summary.name = "main";
  write_results(scratch / "a.h5", Communicator::null(), Provenance{}, summary, RankRows{{0, longer}, {1, shorter}});
  const History whole = history_of(ResultsFile::open(scratch / "a.h5").run("main"));

  const RankRows first = continue_rows(part_of(whole, 0, 2), since, 0);
  const RankRows second = continue_rows(part_of(whole, 1, 2), since, 1);

  EXPECT_EQ(first.at(0).resources.at("time_s"), (std::vector<double>{10, 11, 12, 20, 21}));
  EXPECT_EQ(second.at(1).resources.at("time_s"), (std::vector<double>{10, 20, 21}));
}

TEST(History, TakesColumnsThatAFileLacksAsNotMeasured) {
  const ScratchFolder scratch;
  RunData run = two_ranks(scratch / "a.h5");
  run.times.erase("forward");
  run.counts.clear();

  const RankRows rows = continue_rows(part_of(history_of(run), 1, 2), record_of(2, 1, 5.0), 1);

  const RankRecord& mine = rows.at(1);
  EXPECT_EQ(mine.steps[1].step, 2.0);
  EXPECT_TRUE(std::isnan(mine.steps[1].phases[static_cast<std::size_t>(Phase::forward)]));
  EXPECT_EQ(mine.samples, (std::vector<std::int64_t>{0, 0, 4}));
}

TEST(History, KeepsRowsOfRanksThatAreGone) {
  const ScratchFolder scratch;
  const History history = part_of(history_of(two_ranks(scratch / "a.h5")), 0, 1);

  const RankRows rows = continue_rows(history, record_of(2, 1, 5.0), 0);

  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows.at(1).steps[0].step, 2.0);
  EXPECT_TRUE(std::isnan(rows.at(1).steps[2].step));
  EXPECT_EQ(rows.at(1).samples[2], 0);
  EXPECT_EQ(rows.at(0).steps[2].step, 5.0);
}

TEST(History, FillsTheStepsBeforeARankCame) {
  const ScratchFolder scratch;
  const History history = part_of(history_of(two_ranks(scratch / "a.h5")), 2, 3);

  const RankRows rows = continue_rows(history, record_of(2, 1, 5.0), 2);

  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(std::isnan(rows.at(2).steps[0].step));
  EXPECT_EQ(rows.at(2).steps[2].step, 5.0);
  EXPECT_EQ(rows.at(2).samples, (std::vector<std::int64_t>{0, 0, 4}));
}

TEST(History, IsEmptyForANewRun) {
  const RankRows rows = continue_rows(History{}, record_of(0, 2, 1.0), 0);

  EXPECT_EQ(rows.at(0).steps.size(), 2u);
  EXPECT_EQ(rows.at(0).first_step, 0);
}

TEST(History, ContinuesWithColumnsBesidesThePhases) {
  const ScratchFolder scratch;
  RankRecord first = record_of(0, 2, 1.0);
  first.counts["tokens"] = {5, 6};
  first.extra_times["host_data_wait"] = {0.1, 0.2};
  RunSummary summary;
  summary.name = "main";
  write_results(scratch / "a.h5", Communicator::null(), Provenance{}, summary, first);
  const History history = part_of(history_of(ResultsFile::open(scratch / "a.h5").run("main")), 0, 1);

  RankRecord since = record_of(2, 1, 3.0);
  since.counts["tokens"] = {7};
  since.extra_times["unpack"] = {0.5};
  const RankRecord whole = continue_rows(history, since, 0).at(0);

  EXPECT_EQ(whole.counts.at("tokens"), (std::vector<std::int64_t>{5, 6, 7}));
  EXPECT_EQ(whole.counts.count("samples"), 0u);
  const std::vector<double>& known_before = whole.extra_times.at("host_data_wait");
  ASSERT_EQ(known_before.size(), 3u);
  EXPECT_EQ(known_before[1], 0.2);
  EXPECT_TRUE(std::isnan(known_before[2]));
  const std::vector<double>& known_since = whole.extra_times.at("unpack");
  ASSERT_EQ(known_since.size(), 3u);
  EXPECT_TRUE(std::isnan(known_since[0]));
  EXPECT_EQ(known_since[2], 0.5);
}

TEST(History, TablesOfRanksGoOnWithTheRulesOfTheirColumns) {
  RankTable calls;
  calls.rules = {{"calls", Merge::total}, {"longest_s", Merge::largest}};
  calls.rows[{"gemm"}] = {{"calls", 3}, {"longest_s", 0.5}};
  RunData run;
  run.ranks = 2;
  run.num_steps = 1;
  run.times["step"] = {2, 1, {0.1, 0.1}};
  run.summary.tables["profile/calls"] = table_of_ranks({{1, calls}});
  run.summary.tables["evaluation/classes"].text["name"] = {"cat"};
  const History whole = history_of(run);
  EXPECT_TRUE(whole.rows.at(0).tables.empty());
  EXPECT_EQ(whole.rows.at(1).tables.at("profile/calls"), calls);

  RankRecord since = record_of(1, 1, 0.5);
  calls.rows[{"gemm"}] = {{"calls", 4}, {"longest_s", 0.25}};
  since.tables["profile/calls"] = calls;
  const RankRows rows = continue_rows(part_of(whole, 1, 2), since, 1);
  EXPECT_EQ(rows.at(1).tables.at("profile/calls").rows.at({"gemm"}),
            (std::map<std::string, double>{{"calls", 7}, {"longest_s", 0.5}}));
}

std::string old_file(const std::string& name) {
  return test::source_path("tests/data/old/" + name).string();
}

// Steps 0-2 ran on two ranks, 3 and 4 on one, 5 on three.
TEST(History, OfAnOlderVersionIsRead) {
  const History history = history_of(ResultsFile::open(old_file("run/results.h5")).run("main"));
  ASSERT_EQ(history.segments.size(), 3U);
  EXPECT_EQ(history.segments[1].first_step, 3);
  EXPECT_EQ(history.segments[2].ranks, 3);
  EXPECT_EQ(history.num_steps, 6);
  EXPECT_EQ(history.num_ranks, 3);
  const RankRecord &root = history.rows.at(0), &last = history.rows.at(2);
  for (std::size_t step = 0; step < 6; ++step) {
    EXPECT_GT(root.steps[step].step, 0);
    EXPECT_EQ(std::isnan(last.steps[step].step), step < 5);
    EXPECT_EQ(last.samples[step], step < 5 ? 0 : 1);
    EXPECT_EQ(root.samples[step], step < 3 ? 2 : step < 5 ? 4 : 2);
  }
  EXPECT_EQ(root.counts.at("tokens").size(), 6U);
  EXPECT_GT(root.communication.at("all_reduce").calls, last.communication.at("all_reduce").calls);
  EXPECT_GT(root.memory.at("model/adapters"), 0);
}

/// Of matrices and vectors, bit for bit: NaN is equal to itself.
template <class Column>
std::string bytes_of(const Column& column) {
  const auto bytes = std::as_bytes(std::span(column));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
template <class T>
std::string bytes_of(const RankMatrix<T>& matrix) {
  return bytes_of(matrix.values);
}

TEST(History, OfAnOlderVersionIsWrittenAgainAsItWas) {
  const ScratchFolder scratch;
  for (const char* name : {"run/results.h5", "run/records/step_00000006.h5", "whole.h5", "image.h5"}) {
    const RunData before = ResultsFile::open(old_file(name)).run("main");
    write_results(scratch / "again.h5", Communicator::null(), {}, before.summary, history_of(before).rows);
    const RunData after = ResultsFile::open(scratch / "again.h5").run("main");
    EXPECT_EQ(after.ranks, before.ranks);
    EXPECT_EQ(after.num_steps, before.num_steps);
    EXPECT_EQ(after.clock, before.clock);
    for_each_group(
        [&](auto group, const auto& old_columns, const auto& new_columns) {
          EXPECT_EQ(new_columns.size(), old_columns.size()) << name << ' ' << group.path;
          for (const auto& [column, values] : old_columns)
            EXPECT_EQ(bytes_of(new_columns.at(column)), bytes_of(values)) << name << ' ' << group.path << '/' << column;
        },
        before, after);
  }
}

}  // namespace
}  // namespace multicard
