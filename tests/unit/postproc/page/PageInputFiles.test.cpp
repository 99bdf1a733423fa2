#include <gtest/gtest.h>

#include "postproc/page/PageTables.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

TEST(PageInputFiles, HasALineForEachKindAndRank) {
  RunReport run = run_of({{"strategy", "ddp"}}, 2, 100);
  run.files = {{"input read", 0, 12, 3e9, 1.5}, {"HDF5 read independent", 1, 1250, 4e9, 2, 0.125}};

  const std::string html = input_files_html(study_of({run}));

  EXPECT_NE(html.find("data-table=\"input_files\""), std::string::npos) << html;
  EXPECT_NE(html.find(">1,250</td>"), std::string::npos) << html;
  EXPECT_NE(html.find(">3 GB</td>"), std::string::npos) << html;
  EXPECT_NE(html.find(">2</td>"), std::string::npos) << "GB/s: " << html;
  EXPECT_NE(html.find(">0.125</td>"), std::string::npos) << html;
  EXPECT_NE(html.find(">–</td>"), std::string::npos) << "stages know no lock: " << html;
  EXPECT_EQ(html.find("<details"), std::string::npos) << html;
}

TEST(PageInputFiles, ManyLinesAreFolded) {
  RunReport run = run_of({{"strategy", "ddp"}}, 64, 100);
  for (int rank = 0; rank < 64; ++rank)
    run.files.push_back({"input read", rank, 12, 3e9, 1.5});
  EXPECT_NE(input_files_html(study_of({run})).find("Input and files, 64 lines"), std::string::npos);
}

TEST(PageInputFiles, IsEmptyWhereNothingWasCounted) {
  EXPECT_EQ(input_files_html(study_of({run_of({{"strategy", "ddp"}}, 2, 100)})), "");
}

}  // namespace
}  // namespace multicard::post
