#include "scheduling/rates/MeasuredRates.hpp"

#include <fmt/format.h>
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

TEST(MeasuredRates, HaveTheIntervalOfTheirRepeats) {
  const test::ScratchFolder folder;
  std::vector<double> rates;
  std::vector<RenamedResults> parts;
  for (const double slower : {1.0, 1.1}) {
    const std::string path = folder / fmt::format("{}.h5", slower);
    RankRows rows;
    rows[0] = test::example_record(1);
    for (StepTimes& step : rows[0].steps)
      step.step *= slower;
    write_results(path, test::world(), test::example_provenance(), test::example_summary(), rows);
    rates.push_back(read_measured_rates(path).rows()[0].rate);
    parts.push_back({path, fmt::format("repeat {}", slower)});
  }
  assemble_results(folder / "both.h5", parts, test::example_provenance(), {}, {});

  const RateTable table = read_measured_rates(folder / "both.h5");

  ASSERT_EQ(table.rows().size(), 1U);
  EXPECT_DOUBLE_EQ(table.rows()[0].rate, (rates[0] + rates[1]) / 2);
  const std::optional<Interval> expected = student_interval(rates);
  ASSERT_TRUE(table.rows()[0].interval);
  EXPECT_DOUBLE_EQ(table.rows()[0].interval->low, expected->low);
  EXPECT_DOUBLE_EQ(table.rows()[0].interval->high, expected->high);
}

}  // namespace
}  // namespace multicard
