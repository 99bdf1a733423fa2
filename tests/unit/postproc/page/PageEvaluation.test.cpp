#include <gtest/gtest.h>

#include "postproc/page/PageTables.hpp"

namespace multicard::post {
namespace {

TEST(PageEvaluation, AClassThatIsNeverRecognisedHasAnIntervalToo) {
  EvaluationReport report;
  report.classes = {{"left", 13, 0, 0}, {"right", 13, 13, 26, 0.5, 1, 2.0 / 3}};

  const HtmlTable table = classes_table(report);

  // Wilson: 1.959964^2 / (13 + 1.959964^2) = 0.2281 at most for 0 of 13, and as far from 1 for 13 of 13.
  EXPECT_EQ(table.rows[0][5].text, "0.00 (0.00–0.23)");
  EXPECT_EQ(table.rows[1][5].text, "1.00 (0.77–1.00)");
}

}  // namespace
}  // namespace multicard::post
