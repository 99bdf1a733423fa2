#include <gtest/gtest.h>

#include "SyntheticStudy.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/Collection.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

/// The titles of the figures of ranks of what is read from `path`.
std::vector<std::string> titles_of(const std::string& path) {
  std::vector<Figure> figures;
  add_rank_figures(read_results({path}).studies.at(0), figures);
  std::vector<std::string> titles;
  for (const Figure& figure : figures)
    titles.push_back(figure.title);
  return titles;
}

TEST(RankFigures, ASlowRankOfASingleRunIsCalledThat) {
  const test::ScratchFolder folder;
  test::SyntheticRun run;
  run.ranks = 4;
  run.slow_rank = 2;
  run.slow_factor = 1.3;
  test::write_run(folder / "results.h5", run);

  EXPECT_EQ(titles_of(folder / "results.h5"),
            std::vector<std::string>{"Rank 2 was slower than the others in the only run"});
}

TEST(RankFigures, OfSeveralRunsTheTitleSaysInHowMany) {
  const test::ScratchFolder folder;
  test::write_sweep(folder / "results.h5");

  const std::vector<std::string> titles = titles_of(folder / "results.h5");

  EXPECT_EQ(titles.at(0), "Rank 3 was slower than the others in 2 of 2 runs");
  EXPECT_EQ(titles.at(1), "No rank is measurably slower than the others");
}

}  // namespace
}  // namespace multicard::post
