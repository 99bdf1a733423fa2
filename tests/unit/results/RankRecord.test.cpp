#include "results/RankRecord.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "example_run.hpp"
#include "results/ResultsReader.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

/// Calls of two kernels on one rank, and the longest of them.
RankTable kernels(double calls, double longest) {
  RankTable table;
  table.rules = {{"calls", Merge::total}, {"longest_s", Merge::largest}};
  table.rows[{"gemm"}] = {{"calls", calls}, {"longest_s", longest}};
  return table;
}

TEST(RankRecord, IsTheSameAfterItsPiecesWereAppended) {
  const RankRecord record = test::example_record(1);
  RankRecord gathered = record_from_bytes(to_bytes(tail_of(record, {})));
  EXPECT_EQ(to_bytes(gathered), to_bytes(record));
  RankRecord longer = record;
  continue_record(longer, record, record.steps.size());
  append(gathered, tail_of(longer, length_of(record)));
  EXPECT_EQ(to_bytes(gathered), to_bytes(longer));
}

TEST(RankRecord, WaitingIsUnknownOfAllCallsWhereItIsOfSome) {
  RankRecord known;
  known.communication["broadcast"] = {.calls = 1, .seconds_skew = 0.25};
  RankRecord record = known, unknown;
  unknown.communication["broadcast"] = {.calls = 1};
  continue_record(record, known, 0);
  EXPECT_EQ(record.communication.at("broadcast").seconds_skew, 0.5);
  continue_record(record, unknown, 0);
  EXPECT_TRUE(std::isnan(record.communication.at("broadcast").seconds_skew));

  RankRecord later;  // nothing is unknown of a kind that began with this part
  continue_record(later, known, 0);
  EXPECT_EQ(later.communication.at("broadcast").seconds_skew, 0.25);
}

TEST(RankRecord, SamplesOfTwoPartsFollowEachOther) {
  RankRecord record = test::example_record(1), since = test::example_record(0);
  since.resources["gpu_power_w"] = {300};
  continue_record(record, since, record.steps.size());
  EXPECT_EQ(record.resources.at("cpu_s"), (std::vector<double>{1, 1.25, 0}));
  const std::vector<double>& power = record.resources.at("gpu_power_w");
  ASSERT_EQ(power.size(), 3U);
  EXPECT_TRUE(std::isnan(power[0]) && std::isnan(power[1]));  // the part before had no such sensor
  EXPECT_EQ(power[2], 300);

  continue_record(record, test::example_record(0), record.steps.size());
  EXPECT_TRUE(std::isnan(record.resources.at("gpu_power_w").at(3)));
}

TEST(RankRecord, TablesOfTwoPartsAreMergedByTheRulesOfTheirColumns) {
  RankRecord record = test::example_record(0), since = record;
  record.tables["profile/calls"] = kernels(3, 0.5);
  since.tables["profile/calls"] = kernels(4, 0.25);
  since.tables["profile/calls"].rows[{"copy"}] = {{"calls", 1}};
  continue_record(record, since, record.steps.size());
  const RankTable& merged = record.tables.at("profile/calls");
  EXPECT_EQ(merged.rows.at({"gemm"}), (std::map<std::string, double>{{"calls", 7}, {"longest_s", 0.5}}));
  EXPECT_EQ(merged.rows.at({"copy"}), (std::map<std::string, double>{{"calls", 1}}));
}

// A table of each rank needs no more than its entry in the record: file, reader and tables by rank know its rules.
TEST(RankRecord, TablesOfRanksComeBackFromAResultsFile) {
  const ScratchFolder scratch;
  const std::string path = scratch / "results.h5";
  RankRecord record = test::example_record(world().rank());
  if (world().rank() != 1) record.tables["profile/calls"] = kernels(10 + world().rank(), 0.5);
  if (world().is_root()) record.tables["profile/calls"].rows[{"copy"}] = {{"calls", 1}};
  write_results(path, world(), {}, test::example_summary(), record);

  const Table table = ResultsFile::open(path).run("main").summary.tables.at("profile/calls");
  ASSERT_TRUE(is_of_ranks(table));
  EXPECT_EQ(table.merge.at("longest_s"), Merge::largest);
  const std::map<int, RankTable> tables = tables_by_rank(table);
  EXPECT_EQ(tables.size(), world().size() > 1 ? static_cast<std::size_t>(world().size()) - 1 : 1U);
  EXPECT_EQ(tables.at(0).rows.at({"copy"}), (std::map<std::string, double>{{"calls", 1}}));
  for (const auto& [rank, of_rank] : tables)
    EXPECT_EQ(of_rank.rows.at({"gemm"}).at("calls"), 10 + rank);
}

TEST(RankRecord, TablesOfTheWholeRunAreNotOfRanks) {
  EXPECT_FALSE(is_of_ranks(test::example_summary().tables.at("profile/kernels")));
}

}  // namespace
}  // namespace multicard
