#include "scheduling/rates/RateTableFile.hpp"

#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/test_world.hpp"
#include "unit/scheduling/plan/PublishedTables.hpp"

namespace multicard {
namespace {

/// A table in a folder of its own.
class TableFile {
 public:
  explicit TableFile(const std::string& text) { std::ofstream(path()) << text; }
  std::string path() const { return folder_ / "table.csv"; }

 private:
  test::ScratchFolder folder_;
};

double rate_at(const RateTable& table, int gpus) {
  for (const Choice& choice : table.usable({1, 1000}))
    if (choice.gpus == gpus) return choice.rate;
  return 0;
}

TEST(RateTableFile, ReadsItsOwnLayout) {
  const TableFile file("gpus,nodes,rate,memory_gb\n4,1,2.5,40\n8,2,4,20.5\n");

  const RateTable table = read_rate_table(file.path(), TableLayout::multicard);

  ASSERT_EQ(table.rows().size(), 2U);
  EXPECT_EQ(table.rows()[1].gpus, 8);
  EXPECT_EQ(table.rows()[1].nodes, 2);
  EXPECT_EQ(table.rows()[1].rate, 4);
  EXPECT_EQ(table.rows()[1].memory_gb, 20.5);
}

TEST(RateTableFile, ReadsIntervalsOfRates) {
  const TableFile file("gpus,rate,rate_low,rate_high\n1,2,1.5,2.5\n2,3,0,9\n2,4,3,5\n4,6,,\n");

  const RateTable table = read_rate_table(file.path(), TableLayout::multicard);

  const auto one = table.interval({1, 0, 2}), fastest = table.interval({2, 0, 4});
  ASSERT_TRUE(one && fastest);
  EXPECT_EQ(one->low, 1.5);
  EXPECT_EQ(one->high, 2.5);
  EXPECT_EQ(fastest->low, 3);
  EXPECT_FALSE(table.interval({2, 0, 3})) << "down to 0 is no interval";
  EXPECT_FALSE(table.interval({4, 0, 6}));
}

TEST(RateTableFile, TakesTheFastestOfRubicksPlansAndPlacements) {
  const RateTable table = read_rate_table(test::allocation_data("rubick/llama7.csv"), TableLayout::rubick);

  EXPECT_DOUBLE_EQ(rate_at(table, 8), 1 / 9.400914431);
  EXPECT_DOUBLE_EQ(rate_at(table, 16), 1 / 1.130784211);
  EXPECT_DOUBLE_EQ(rate_at(table, 64), 1 / 0.672942105);
  EXPECT_EQ(rate_at(table, 12), 0);
}

TEST(RateTableFile, BindsPlacementsToTheirNodesOnRequest) {
  const RateTable rubick = read_rate_table(test::allocation_data("rubick/llama7.csv"), TableLayout::rubick,
                                           std::nullopt, PlacementUse::bound);
  std::map<std::pair<int, int>, double> rates;
  for (const Choice& choice : rubick.usable({8, 8}))
    rates[{choice.gpus, choice.nodes}] = choice.rate;
  EXPECT_DOUBLE_EQ((rates[{8, 1}]), 1 / 9.400914431) << "the only plan of placement 8";
  EXPECT_DOUBLE_EQ((rates[{16, 2}]), 1 / 1.130784211);
  EXPECT_DOUBLE_EQ((rates[{16, 4}]), 1 / 1.6486);
  EXPECT_DOUBLE_EQ((rates[{16, 8}]), 1 / 2.227210526);
  for (const Choice& choice : rubick.usable({8, 4}))
    EXPECT_LE(choice.gpus, 4 * choice.nodes) << "8 GPUs a node do not exist there";

  const RateTable pollux = read_rate_table(test::allocation_data("pollux/traces/bert"), TableLayout::pollux,
                                           std::nullopt, PlacementUse::bound);
  for (const RateRow& row : pollux.rows()) {
    EXPECT_GE(row.nodes, 1);
    EXPECT_LE(row.nodes, row.gpus);
  }
}

TEST(RateTableFile, TakesTheFastestPlacementThatTheMachineHasAndSaysWhich) {
  const TableFile file("exec_plan,placement,iter_time\nga,44,0.5\nzero,35,0.25\nga,26,0.125\nga,62,1\n");

  const RateTable table = read_rate_table(file.path(), TableLayout::rubick, std::nullopt, PlacementUse::bound);

  EXPECT_DOUBLE_EQ(table.best({2, 8}).rate, 8);
  EXPECT_EQ(table.source(8, 2, {2, 8}).placement, "6+2") << "26 and 62 are one placement";
  EXPECT_DOUBLE_EQ(table.best({2, 5}).rate, 4) << "no node has 6";
  EXPECT_EQ(table.source(8, 2, {2, 5}).placement, "5+3");
  EXPECT_EQ(table.source(8, 2, {2, 5}).variant, "plan zero");
  EXPECT_FALSE(table.source(4, 1, {2, 5}).is_known());
}

TEST(RateTableFile, TakesIterationTimesOfZeroForRunsThatFailed) {
  const TableFile file("exec_plan,placement,iter_time\nga,8,0\nga,44,0.5\nga,4,0\n");

  const RateTable table = read_rate_table(file.path(), TableLayout::rubick);

  EXPECT_DOUBLE_EQ(rate_at(table, 8), 2);
  EXPECT_EQ(rate_at(table, 4), 0);
}

TEST(RateTableFile, ReadsTheBatchOfElasticFlow) {
  const std::string path = test::allocation_data("elasticflow/resnet50.csv");

  EXPECT_DOUBLE_EQ(rate_at(read_rate_table(path, TableLayout::elasticflow), 1), 6.8429775823889685);
  EXPECT_DOUBLE_EQ(rate_at(read_rate_table(path, TableLayout::elasticflow, 256), 64), 18.845304488737906);
  EXPECT_NE(test::message_of<DataError>([&] { read_rate_table(path, TableLayout::elasticflow, 96); }).find("96"),
            std::string::npos);
}

TEST(RateTableFile, TakesTheBestLocalBatchOfPollux) {
  const TableFile file("placement,local_bsz,step_time,sync_time\n1,4,0.5,0\n1,8,0.8,0\n11,4,0.5,0.1\n");

  const RateTable table = read_rate_table(file.path(), TableLayout::pollux);

  EXPECT_DOUBLE_EQ(rate_at(table, 1), 10);
  EXPECT_DOUBLE_EQ(rate_at(table, 2), 16);
}

TEST(RateTableFile, ReadsBothFilesOfAPolluxFolder) {
  const RateTable table = read_rate_table(test::allocation_data("pollux/traces/bert"), TableLayout::pollux);

  EXPECT_GT(rate_at(table, 1), 0);  // of placements.csv
  EXPECT_GT(rate_at(table, 16), 0);
}

TEST(RateTableFile, NamesTheLineThatIsWrong) {
  for (const auto& [text, layout] :
       {std::pair{"exec_plan,placement,iter_time\nga,8,1\nga,80,1\n", TableLayout::rubick},
        {"placement,local_bsz,step_time\n1,1,1\n1,0,1\n", TableLayout::pollux},
        {"gpus,rate\n1,1\n2,inf\n", TableLayout::multicard},
        {"gpus,rate,rate_low,rate_high\n1,1,1,1\n2,1,1.1,2\n", TableLayout::multicard},
        {"gpus,rate,rate_low,rate_high\n1,1,1,1\n2,1,0.5,0.9\n", TableLayout::multicard}}) {
    const TableFile file(text);
    const auto read = [&, kind = layout] { read_rate_table(file.path(), kind); };
    EXPECT_NE(test::message_of<DataError>(read).find("line 3"), std::string::npos) << text;
  }
  const TableFile file("global_batch_size,1,x\n64,1,2\n");
  const auto read = [&] { read_rate_table(file.path(), TableLayout::elasticflow); };
  EXPECT_NE(test::message_of<DataError>(read).find("column x"), std::string::npos);
}

}  // namespace
}  // namespace multicard
