#include <cmath>

#include <gtest/gtest.h>

#include "postproc/reduce/ReduceParts.hpp"

namespace multicard::post {
namespace {

/// Of two ranks, as a results file has it.
Table table_of(const std::string& name, const std::map<std::string, std::vector<double>>& columns) {
  Table table;
  table.integers["rank"] = {0, 1};
  table.text["name"] = {name, name};
  for (const auto& [column, values] : columns) {
    table.reals[column] = values;
    table.merge[column] = Merge::total;
  }
  return table;
}

TEST(ReduceInputFiles, BringsStagesAndTransfersTogether) {
  RunData run;
  run.summary.tables["io/hdf5"] = table_of(
      "write_collective", {{"count", {3, 4}}, {"bytes", {1e9, 2e9}}, {"seconds", {0.5, 0}}, {"lock_seconds", {0, 1}}});
  run.summary.tables["input/stages"] =
      table_of("read", {{"count", {7, 8}}, {"bytes", {0, 6e9}}, {"seconds", {0.25, 3}}});

  const std::vector<FilesReport> rows = reduce_input_files(run);

  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].kind, "input read");
  EXPECT_EQ(rows[1].rank, 1);
  EXPECT_DOUBLE_EQ(rows[1].gb_per_s(), 2);
  EXPECT_TRUE(std::isnan(rows[0].gb_per_s())) << "no bytes";
  EXPECT_TRUE(std::isnan(rows[0].lock_seconds));
  EXPECT_EQ(rows[2].kind, "HDF5 write collective");
  EXPECT_DOUBLE_EQ(rows[2].calls, 3);
  EXPECT_DOUBLE_EQ(rows[2].gb_per_s(), 2);
  EXPECT_TRUE(std::isnan(rows[3].gb_per_s())) << "no time";
  EXPECT_DOUBLE_EQ(rows[3].lock_seconds, 1);
}

TEST(ReduceInputFiles, OfAnOlderFileThereIsNothing) {
  EXPECT_TRUE(reduce_input_files(RunData{}).empty());
}

}  // namespace
}  // namespace multicard::post
