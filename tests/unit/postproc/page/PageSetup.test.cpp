#include <gtest/gtest.h>

#include "postproc/page/PageParts.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

/// The setup of a study whose runs have these weight decays in their decks.
std::string setup_of(const std::vector<std::string>& decays) {
  std::vector<RunReport> runs;
  for (std::size_t i = 0; i < decays.size(); ++i) {
    runs.push_back(run_of({{"strategy", i % 2 == 0 ? "ddp" : "dp"}}, 2, 100, 0));
    runs.back().deck = "optimizer:\n  weight_decay: " + decays[i] + "\n";
  }
  return setup_html(collection_of(study_of(std::move(runs))));
}

TEST(PageSetup, ANumberThatDecksWriteInTwoWaysIsOneValue) {
  const std::string page = setup_of({"4e-05", "4.0e-5"});

  EXPECT_NE(page.find("4e-05"), std::string::npos) << page;
  EXPECT_EQ(page.find("4.0e-5"), std::string::npos) << page;
}

TEST(PageSetup, DifferentNumbersAreListed) {
  EXPECT_NE(setup_of({"4e-05", "5e-05"}).find("weight decay 4e-05, weight decay 5e-05"), std::string::npos);
}

}  // namespace
}  // namespace multicard::post
