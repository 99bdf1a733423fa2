#include "planning/MeasuredRates.hpp"

#include <gtest/gtest.h>

#include "results/ResultsWriter.hpp"
#include "support/test_world.hpp"
#include "unit/results/example_run.hpp"

namespace multicard {
namespace {

TEST(MeasuredRates, AreSamplesOfAllRanksBySecondsOfTheSlowest) {
  const test::ScratchFolder folder;
  const std::string path = folder / "results.h5";
  RankRows rows;
  for (int rank = 0; rank < 2; ++rank)
    rows[rank] = test::example_record(rank);
  write_results(path, test::world(), test::example_provenance(), test::example_summary(), rows);

  const RateTable table = read_measured_rates(path);

  ASSERT_EQ(table.rows().size(), 1U);
  EXPECT_EQ(table.rows()[0].gpus, 2);
  // Steps 2 to 5 count; the median lies between steps 3 and 4.
  const auto rate = [&](std::size_t step) {
    return static_cast<double>(rows[0].samples[step] + rows[1].samples[step]) / rows[1].steps[step].step;
  };
  EXPECT_DOUBLE_EQ(table.rows()[0].rate, (rate(3) + rate(4)) / 2);
}

}  // namespace
}  // namespace multicard
