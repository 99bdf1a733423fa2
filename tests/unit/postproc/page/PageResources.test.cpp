#include <gtest/gtest.h>

#include "postproc/page/PageTables.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

TEST(PageResources, HasMeansPeaksAndTotalsOfRanks) {
  RunReport run = run_of({{"strategy", "ddp"}}, 2, 100);
  RankResources rank;
  rank.cpu_cores = 1.25;
  rank.resident_bytes = 2e9;
  rank.gpu_energy_j = 1500;
  run.resources = {rank, rank};
  run.resources[1].cpu_cores = 1.75;
  run.resources[1].resident_bytes = 3e9;

  const std::string html = resources_html(study_of({run}));

  EXPECT_NE(html.find(">1.5</td>"), std::string::npos) << html;
  EXPECT_NE(html.find(">3 GB</td>"), std::string::npos) << html;
  EXPECT_NE(html.find("energy, kJ"), std::string::npos);
  EXPECT_NE(html.find(">3</td>"), std::string::npos) << html;
  EXPECT_EQ(html.find("GPU busy"), std::string::npos) << "it was not recorded";
}

TEST(PageResources, IsEmptyWhereNothingWasSampled) {
  EXPECT_EQ(resources_html(study_of({run_of({{"strategy", "ddp"}}, 2, 100)})), "");
}

}  // namespace
}  // namespace multicard::post
