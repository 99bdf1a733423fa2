#include "share/ShareRecord.hpp"

#include <gtest/gtest.h>

#include "io/Bytes.hpp"
#include "results/ResultsReader.hpp"
#include "share/ShareBaselines.hpp"
#include "support/expect_error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;

ShareRecord example() {
  ShareRecord record;
  record.note("a", {0, 2}, 0);
  record.note("b", {2, 1}, 0.5);
  record.note("a", {0, 2}, 1);  // no change
  record.note("b", {}, 3);
  record.note("a", {0, 3}, 3.5, 0.25);
  record.measure("a", 12, 0.5);
  record.measure("a", 13, 0);  // nothing was measured
  record.measure("b", 7, 9);   // has no ranks
  record.progress["b"].arrived_s = 0.5;
  record.begin(3);
  record.changes.push_back({3.5, "a", 2, 3, 0.25, 0.1, "predicted gain 25.0 %"});
  record.decide(false, {4, 0.02, 0.5, "less than min_gain"});
  record.decide(false, {5, 0.03, 0.5, "less than min_gain"});  // as before
  record.arrivals.push_back({"c", "in/c.yaml", "name: c\n"});
  return record;
}

void expect_interval(const AllocationInterval& interval, const std::string& task, RankSet rank_set, double start_s,
                     double end_s) {
  EXPECT_EQ(interval.task, task);
  EXPECT_EQ(interval.first_rank, rank_set.first());
  EXPECT_EQ(interval.ranks, rank_set.count());
  EXPECT_TRUE(interval.rank_list.empty() || interval.rank_list == rank_set.text());
  EXPECT_EQ(interval.start_s, start_s);
  EXPECT_EQ(interval.end_s, end_s);
}

TEST(ShareRecord, KeepsAnIntervalForEachSetOfRanks) {
  const ShareRecord record = example();
  ASSERT_EQ(record.intervals.size(), 3U);
  expect_interval(record.intervals[0], "a", {0, 2}, 0, 3.5);
  expect_interval(record.intervals[1], "b", {2, 1}, 0.5, 3);
  expect_interval(record.intervals[2], "a", {0, 3}, 3.5, -1);
}

TEST(ShareRecord, IsReadAsItWasWritten) {
  const ScratchFolder scratch;
  write_share_record(scratch / "share.json", example(), 7.25);
  const ShareRecord again = read_share_record(scratch / "share.json");
  EXPECT_EQ(again.elapsed_s, 7.25);
  ASSERT_EQ(again.intervals.size(), 3U);
  expect_interval(again.intervals[2], "a", {0, 3}, 3.5, 7.25);  // it was open
  EXPECT_EQ(again.intervals[2].predicted_step_s, 0.25);
  EXPECT_EQ(again.intervals[2].measured_step_s, 0.5);
  EXPECT_EQ(again.intervals[1].measured_step_s, 0);
  ASSERT_EQ(again.rejected.size(), 1U);
  EXPECT_EQ(again.rejected[0].time_s, 4);
  EXPECT_EQ(again.rejected[0].predicted_gain, 0.02);
  EXPECT_EQ(again.rejected[0].reason, "less than min_gain");
  ASSERT_EQ(again.changes.size(), 1U);
  EXPECT_EQ(again.changes[0].to, 3);
  EXPECT_EQ(again.changes[0].predicted_gain, 0.25);
  EXPECT_EQ(again.changes[0].reason, "predicted gain 25.0 %");
  ASSERT_EQ(again.arrivals.size(), 1U);
  EXPECT_EQ(again.arrivals[0].entry, "name: c\n");
  EXPECT_EQ(again.progress.at("a").num_completed, 13);
  EXPECT_EQ(again.progress.at("b").arrived_s, 0.5);
  EXPECT_EQ(again.num_ranks, 3);
}

TEST(ShareRecord, ReasonsForNoChangeAreKeptOnceUntilSomethingChanges) {
  ShareRecord record;
  for (const bool is_change : {false, false, true, false})
    record.decide(is_change, {0, 0, 0, "no other split is better"});
  EXPECT_EQ(record.rejected.size(), 2U);
  record.decide(false, {1, 0, 0, "another"});
  EXPECT_EQ(record.rejected.size(), 3U);
}

TEST(ShareRecord, KnowsWhetherAllLaunchesHadAsManyRanks) {
  ShareRecord record;
  record.begin(2);
  record.begin(2);
  EXPECT_EQ(record.num_ranks, 2);
  record.begin(3);
  record.begin(2);
  EXPECT_EQ(record.num_ranks, -1);
}

TEST(ShareRecord, ADamagedOneIsRefused) {
  const ScratchFolder scratch;
  write_share_record(scratch / "share.json", example(), 1);
  const std::string text = read_file(scratch / "share.json");
  write_file(scratch / "half.json", text.substr(0, text.size() / 2));
  write_file(scratch / "type.json", R"({"format":"multicard-share","version":1,"elapsed_s":"long"})");
  write_file(scratch / "other.json", R"({"format":"multicard-share","version":9})");
  for (const char* name : {"half.json", "type.json", "other.json"}) {
    const std::string message = test::message_of<DataError>([&] { read_share_record(scratch / name); });
    EXPECT_NE(message.find("is damaged"), std::string::npos) << message;
  }
}

TEST(ShareRecord, ResultsHoldItNextToTheRuns) {
  const ScratchFolder scratch;
  RunSummary summary;
  summary.name = "a";
  summary.status = "stopped";
  assemble_results(scratch / "results.h5", std::vector<RenamedResults>{}, {}, {summary},
                   allocation_group(example(), {{"equal", 12, 10, 14, ""}}, "adaptive", "makespan"));
  EXPECT_EQ(ResultsFile::open(scratch / "results.h5").run_names(), std::vector<std::string>{"a"});
  const Hdf5File file = Hdf5File::open_read(scratch / "results.h5");
  EXPECT_EQ(file.open_dataset("/allocation/intervals/ranks").read_all<std::int64_t>(),
            (std::vector<std::int64_t>{2, 1, 3}));
  EXPECT_EQ(file.open_dataset("/allocation/intervals/measured_step_s").read_all<double>(),
            (std::vector<double>{0, 0, 0.5}));
  EXPECT_EQ(file.open_dataset("/allocation/decisions/predicted_gain").read_all<double>(), std::vector<double>{0.25});
  EXPECT_EQ(file.open_dataset("/allocation/baselines/high_s").read_all<double>(), std::vector<double>{14});
}

TEST(ShareRecord, HoldsRanksThatAreNotConsecutive) {
  const ScratchFolder scratch;
  ShareRecord record;
  record.note("a", RankSet({0, 2, 3}), 0, 0.5, "2+1");
  record.note("a", RankSet({0, 1, 2}), 2, 0.5, "2+1");
  record.placements = {{1, "a", "2+1", 0.5, 1}, {1, "a", "3", 0.25, 0}};
  write_share_record(scratch / "share.json", record, 3);
  const ShareRecord again = read_share_record(scratch / "share.json");
  ASSERT_EQ(again.intervals.size(), 2U) << "as many ranks from the same first one";
  EXPECT_EQ(again.intervals[0].placement, "2+1");
  EXPECT_EQ(again.placements[1].placement, "3");
  RunSummary summary;
  summary.name = "a";
  assemble_results(scratch / "results.h5", std::vector<RenamedResults>{}, {}, {summary},
                   allocation_group(again, {}, "adaptive", "makespan"));
  const AllocationRecord read = ResultsFile::open(scratch / "results.h5").allocation();
  ASSERT_EQ(read.intervals.size(), 2U);
  EXPECT_TRUE(has_rank(read.intervals[0], 0) && !has_rank(read.intervals[0], 1) && has_rank(read.intervals[0], 3));
  ASSERT_EQ(read.placements.size(), 2U);
  EXPECT_EQ(read.placements[0].is_chosen, 1);
}

TEST(ShareRecord, OfAnOlderVersionIsRead) {
  const auto folder = test::source_path("tests/data/old/share");
  const ShareRecord record = read_share_record((folder / "share.json").string());
  EXPECT_EQ(record.elapsed_s, 9.670755492);
  EXPECT_EQ(record.num_ranks, 2);
  ASSERT_EQ(record.intervals.size(), 5U);
  expect_interval(record.intervals[4], "text", {0, 2}, 3.728676583, 9.669332665999999);
  EXPECT_EQ(record.intervals[4].measured_step_s, 0.0305480655);
  ASSERT_EQ(record.changes.size(), 5U);
  EXPECT_EQ(record.changes[4].predicted_gain, 0.5363297012168262);
  EXPECT_EQ(record.changes[4].to, 2);
  EXPECT_EQ(record.rejected.size(), 3U);
  EXPECT_EQ(record.progress.at("text").num_completed, 150);

  const AllocationRecord allocation = ResultsFile::open((folder / "results.h5").string()).allocation();
  ASSERT_EQ(allocation.intervals.size(), 5U);
  EXPECT_EQ(allocation.intervals[4].measured_step_s, 0.0305480655);
  EXPECT_EQ(allocation.changes[4].reason, record.changes[4].reason);
  EXPECT_EQ(allocation.baselines.size(), 2U);
}

}  // namespace
}  // namespace multicard
