#include "postproc/page/TextTable.hpp"

#include <gtest/gtest.h>

namespace multicard::post {
namespace {

const TextTable kTable{
    {{"configuration", "rate", "wait", "speedup"}, {"fp32 nhwc", "147 (140–150)", "1 %", "1.8 (1–2)"}},
    {{"configuration", "rate", "wait", "speedup"}, {"fp32 nhwc", "147 (140–150)", "1 %", "1.8"}},
    {2}};

TEST(TextTable, HasTheFirstColumnToTheLeftAndTheOthersToTheRight) {
  EXPECT_EQ(aligned(kTable),
            "configuration           rate  wait    speedup\n"
            "fp32 nhwc      147 (140–150)   1 %  1.8 (1–2)\n");
  EXPECT_EQ(aligned(kTable, 45), aligned(kTable));
}

TEST(TextTable, GivesLabelsLinesOfTheirOwnWhereTheTerminalIsNarrow) {
  EXPECT_EQ(aligned(kTable, 44),
            "           rate  wait  speedup\n"
            "fp32 nhwc\n"
            "  147 (140–150)   1 %      1.8\n");
}

TEST(TextTable, WritesALabelOnceAboveItsRows) {
  TextTable table = kTable;
  table.rows.push_back(table.rows.back());
  table.short_rows.push_back(table.short_rows.back());
  EXPECT_EQ(aligned(table, 44), aligned(kTable, 44) + "  147 (140–150)   1 %      1.8\n");
}

TEST(TextTable, LeavesOutWhatIsExpendableAndSaysSo) {
  EXPECT_EQ(aligned(kTable, 29),
            "           rate  speedup\n"
            "fp32 nhwc\n"
            "  147 (140–150)      1.8\n"
            "not shown in 29 columns: wait\n");
}

}  // namespace
}  // namespace multicard::post
