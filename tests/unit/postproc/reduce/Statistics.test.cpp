#include "postproc/reduce/Statistics.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace multicard::post {
namespace {

Estimate estimate(double value, double low, double high, Basis basis = Basis::repeats) {
  return {value, Interval{low, high}, basis, 3};
}

TEST(Statistics, RatiosAddRelativeWidthsInSquares) {
  // ln(200/100) = 0.6931 down and ln(800/400) = 0.6931 for the denominator: sqrt(2) * 0.6931 = 0.98026.
  const Estimate quotient = ratio(estimate(200, 100, 400), estimate(400, 200, 800), 3);

  EXPECT_DOUBLE_EQ(quotient.value, 1.5);
  ASSERT_TRUE(quotient.interval);
  EXPECT_NEAR(quotient.interval->low, 1.5 * std::exp(-0.98026), 1e-4);
  EXPECT_NEAR(quotient.interval->high, 1.5 * std::exp(0.98026), 1e-4);
  EXPECT_EQ(quotient.basis, Basis::repeats);
}

TEST(Statistics, ARatioOverAnExactDenominatorKeepsTheNumeratorsInterval) {
  const Estimate quotient = ratio(estimate(200, 190, 220, Basis::steps), estimate(100, 100, 100));

  EXPECT_NEAR(quotient.interval->low, 1.9, 1e-12);
  EXPECT_NEAR(quotient.interval->high, 2.2, 1e-12);
  EXPECT_EQ(quotient.basis, Basis::steps);
  EXPECT_EQ(difference(estimate_of_share(9, 10), estimate_of_share(8, 10)).basis, Basis::none);
}

TEST(Statistics, ARatioWithoutBothIntervalsHasNone) {
  Estimate bare;
  bare.value = 100;

  EXPECT_FALSE(ratio(estimate(200, 190, 210), bare).interval);
  EXPECT_DOUBLE_EQ(ratio(estimate(200, 190, 210), bare).value, 2);
  EXPECT_FALSE(ratio(Estimate{}, bare).known());
  // What may be zero bounds nothing.
  EXPECT_FALSE(ratio(estimate(200, 0, 450), estimate(100, 90, 110)).interval);
}

TEST(Statistics, ATimeIsThePlaceChangedIntervalOfARate) {
  const Estimate time = reciprocal(estimate(200, 100, 400), 1000);

  EXPECT_DOUBLE_EQ(time.value, 5);
  EXPECT_DOUBLE_EQ(time.interval->low, 2.5);
  EXPECT_DOUBLE_EQ(time.interval->high, 10);
  EXPECT_FALSE(reciprocal(estimate(200, 0, 400)).interval);
}

TEST(Statistics, RatiosOfSeveralCellsPoolTheSpreadOfTheirRepeats) {
  // Logarithms: cell one -0.1, 0.1 around 0, cell two 0.9, 1.1 around 1. Mean 0.5; squares 4 * 0.01 over 2 degrees of
  // freedom = 0.02; of the mean 0.02 * (1/2 + 1/2) / 4 = 0.005; half = 4.30265 * 0.0707107 = 0.304244.
  const Estimate effect = estimate_of_ratios({{std::exp(-0.1), std::exp(0.1)}, {std::exp(0.9), std::exp(1.1)}});

  EXPECT_NEAR(effect.value, std::exp(0.5), 1e-12);
  ASSERT_TRUE(effect.interval);
  EXPECT_NEAR(std::log(effect.interval->low), 0.5 - 0.304244, 1e-5);
  EXPECT_NEAR(std::log(effect.interval->high), 0.5 + 0.304244, 1e-5);
  EXPECT_EQ(effect.basis, Basis::repeats);
  EXPECT_EQ(effect.num_values, 4);
}

TEST(Statistics, RatiosWithoutRepeatsTellHowCellsDiffer) {
  // Logarithms 0 and 1: mean 0.5, deviation 0.707107, half = 12.7062 * 0.707107 / sqrt(2) = 6.3531.
  const Estimate effect = estimate_of_ratios({{1}, {std::exp(1)}});
  const Estimate one = estimate_of_ratios({{1.5}});

  EXPECT_EQ(effect.basis, Basis::cells);
  EXPECT_NEAR(std::log(effect.interval->high), 0.5 + 6.3531, 1e-3);
  EXPECT_EQ(one.basis, Basis::none);
  EXPECT_FALSE(one.interval);
  EXPECT_FALSE(estimate_of_ratios({}).known());
}

TEST(Statistics, TheIntervalOfAnEffectHoldsTheTruthNineteenTimesInTwenty) {
  // Five cells with effects of their own, three repeats each with a noise of 5 %: 2,000 studies.
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.05);
  const std::vector<double> truths{0.1, 0.2, 0.3, 0.4, 0.5};  // logarithms; their mean is 0.3
  constexpr int kStudies = 2000;
  int held = 0;
  for (int study = 0; study < kStudies; ++study) {
    std::vector<std::vector<double>> ratios;
    for (const double truth : truths) {
      ratios.emplace_back();
      for (int repeat = 0; repeat < 3; ++repeat)
        ratios.back().push_back(std::exp(truth + noise(random) - noise(random)));
    }
    const Interval interval = *estimate_of_ratios(ratios).interval;
    held += interval.low <= std::exp(0.3) && std::exp(0.3) <= interval.high;
  }

  EXPECT_NEAR(static_cast<double>(held) / kStudies, 0.95, 0.02);  // four standard errors
}

TEST(Statistics, SharesHaveWilsonsInterval) {
  // 8 of 10: (0.8 + 0.19207) / 1.38415 = 0.716742 and 1.959964 sqrt(0.016 + 0.0096036) / 1.38415 = 0.226575.
  const Estimate share = estimate_of_share(8, 10);
  const Estimate all = estimate_of_share(5, 5);

  EXPECT_DOUBLE_EQ(share.value, 0.8);
  EXPECT_NEAR(share.interval->low, 0.490167, 1e-5);
  EXPECT_NEAR(share.interval->high, 0.943317, 1e-5);
  EXPECT_NEAR(all.interval->low, 0.565518, 1e-5);
  EXPECT_DOUBLE_EQ(all.interval->high, 1);
  EXPECT_FALSE(estimate_of_share(0, 0).known());
}

TEST(Statistics, EstimatesDifferOnlyWhenTheirIntervalsAreApart) {
  EXPECT_TRUE(significantly_different(estimate(10, 9, 11), estimate(12, 11.5, 13)));
  EXPECT_TRUE(significantly_different(estimate(12, 11.5, 13), estimate(10, 9, 11)));
  EXPECT_FALSE(significantly_different(estimate(10, 9, 11), estimate(12, 10.5, 13)));
  Estimate bare;
  bare.value = 1000;
  EXPECT_FALSE(significantly_different(estimate(10, 9, 11), bare));
}

TEST(Statistics, TheIntervalOfADifferenceAddsBothInSquares) {
  const Estimate a{10, Interval{9, 12}, Basis::steps, 30}, b{4, Interval{3.5, 4.25}, Basis::repeats, 3};

  const Estimate by = difference(a, b);

  EXPECT_DOUBLE_EQ(by.value, 6);
  EXPECT_DOUBLE_EQ(by.interval->low, 6 - std::hypot(1, 0.25));
  EXPECT_DOUBLE_EQ(by.interval->high, 6 + std::hypot(2, 0.5));
  EXPECT_EQ(by.basis, Basis::steps);
  EXPECT_EQ(by.num_values, 3);
  EXPECT_FALSE(difference(a, Estimate{4, std::nullopt, Basis::none, 1}).interval);
  EXPECT_FALSE(difference(a, {}).known());
}

TEST(Statistics, AGeometricMeanOfEqualIntervalsNarrowsWithTheRootOfTheirNumber) {
  const Estimate one{2, Interval{2 / 1.1, 2 * 1.1}, Basis::repeats, 3};
  const Estimate four{8, Interval{8 / 1.1, 8 * 1.1}, Basis::repeats, 3};

  const Estimate mean = geometric_mean({one, four});

  EXPECT_DOUBLE_EQ(mean.value, 4);
  EXPECT_NEAR(mean.interval->high, 4 * std::exp(std::log(1.1) / std::sqrt(2.0)), 1e-12);
  EXPECT_NEAR(mean.interval->low, 4 * std::exp(-std::log(1.1) / std::sqrt(2.0)), 1e-12);
  EXPECT_EQ(mean.basis, Basis::repeats);
  EXPECT_FALSE(geometric_mean({one, {3, std::nullopt, Basis::none, 1}}).interval);
  EXPECT_FALSE(geometric_mean({one, {}}).known());
  EXPECT_FALSE(geometric_mean({}).known());
}

TEST(Statistics, AMeanHasStudentsInterval) {
  const Estimate mean = estimate_of_mean({1, 2, 3}, Basis::repeats, 2);

  EXPECT_DOUBLE_EQ(mean.value, 2);
  EXPECT_NEAR(mean.interval->high, 2 + 4.302652729749 / std::sqrt(3.0), 1e-9);
  EXPECT_FALSE(estimate_of_mean({1, 2, 3}, Basis::steps, 6).interval);
  EXPECT_FALSE(estimate_of_mean({}, Basis::steps, 6).known());
}

}  // namespace
}  // namespace multicard::post
