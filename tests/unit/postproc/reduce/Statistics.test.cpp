#include "postproc/reduce/Statistics.hpp"

#include <random>

#include <gtest/gtest.h>

namespace multicard::post {
namespace {

Estimate estimate(double value, double low, double high, Basis basis = Basis::repeats) {
  return {value, Interval{low, high}, basis, 3};
}

TEST(Statistics, FiveValuesBoundNoMedianAndSixDoByTheirExtremes) {
  // 1 - 2 / 2^5 = 0.9375 is too little; 1 - 2 / 2^6 = 0.96875 is enough.
  EXPECT_FALSE(median_interval({1, 2, 3, 4, 5}));

  const auto six = median_interval({6, 5, 4, 3, 2, 1});

  ASSERT_TRUE(six);
  EXPECT_DOUBLE_EQ(six->low, 1);
  EXPECT_DOUBLE_EQ(six->high, 6);
}

TEST(Statistics, NineValuesUseTheSecondFromEachEnd) {
  // P(Bin(9, 1/2) <= 1) = 10 / 512: 1 - 2 * 0.01953 = 0.961. One more, (10 + 36) / 512, would cover 0.82 only.
  const auto nine = median_interval({9, 8, 7, 6, 5, 4, 3, 2, 1});

  ASSERT_TRUE(nine);
  EXPECT_DOUBLE_EQ(nine->low, 2);
  EXPECT_DOUBLE_EQ(nine->high, 8);
}

TEST(Statistics, AHundredValuesUseTheFortiethAndTheSixtyFirst) {
  // The tables' entry for n = 100: order statistics 40 and 61, coverage 0.965.
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i)
    values.push_back(i);

  const auto interval = median_interval(values);

  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low, 40);
  EXPECT_DOUBLE_EQ(interval->high, 61);
}

TEST(Statistics, AMillionValuesAreNoProblem) {
  // Normal approximation: k = n/2 - 0.98 sqrt(n) = 500000 - 980.
  std::vector<double> values(1000000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i + 1);

  const auto interval = median_interval(values);

  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 499020, 3);
  EXPECT_NEAR(interval->high, 500981, 3);
}

TEST(Statistics, FewRepeatsUseStudentsTOnLogarithms) {
  // ln 99, ln 100, ln 101: mean 4.605137, deviation 0.0100004, t(2) = 4.30265, half = t * deviation / sqrt(3) =
  // 0.0248423.
  const auto three = student_interval({99, 100, 101});

  ASSERT_TRUE(three);
  EXPECT_NEAR(three->low, 97.5431, 1e-3);
  EXPECT_NEAR(three->high, 102.5119, 1e-3);
  EXPECT_FALSE(student_interval({100}));
  EXPECT_FALSE(student_interval({1, 2, 3, 4, 5, 6}));
  EXPECT_FALSE(student_interval({0, 1}));
}

TEST(Statistics, TwoRepeatsFarApartBoundLittleButStayPositive) {
  // ln 1 = 0 and ln 4 = 1.386294: mean 0.693147, half = 12.7062 * 0.980258 / sqrt(2) = 8.80739.
  const auto two = student_interval({1, 4});

  ASSERT_TRUE(two);
  EXPECT_NEAR(two->low, 2 * std::exp(-8.80739), 1e-6);
  EXPECT_NEAR(two->high / (2 * std::exp(8.80739)), 1, 1e-3);
}

TEST(Statistics, StepsOfOneRunSayThatTheyAreSteps) {
  const Estimate few = estimate_of_steps({1, 2, 3});
  const Estimate enough = estimate_of_steps({1, 2, 3, 4, 5, 6, 7});

  EXPECT_EQ(few.basis, Basis::none);
  EXPECT_FALSE(few.interval);
  EXPECT_DOUBLE_EQ(few.value, 2);
  EXPECT_EQ(enough.basis, Basis::steps);
  EXPECT_EQ(enough.num_values, 7);
}

TEST(Statistics, RepeatsReplaceTheIntervalsOfTheirSteps) {
  const Estimate one = estimate_of_repeats({estimate(100, 90, 110, Basis::steps)});
  const Estimate three = estimate_of_repeats({estimate(99, 1, 1000, Basis::steps), estimate(101, 1, 1000, Basis::steps),
                                              estimate(100, 1, 1000, Basis::steps)});

  EXPECT_EQ(one.basis, Basis::steps);
  EXPECT_DOUBLE_EQ(one.interval->low, 90);
  EXPECT_EQ(three.basis, Basis::repeats);
  EXPECT_DOUBLE_EQ(three.value, 100);
  EXPECT_NEAR(three.interval->low, 97.5431, 1e-3);
}

TEST(Statistics, SixRepeatsNeedNoDistribution) {
  std::vector<Estimate> repeats;
  for (const double value : {10.0, 11.0, 12.0, 13.0, 14.0, 90.0})
    repeats.push_back(estimate(value, value, value, Basis::steps));

  const Estimate pooled = estimate_of_repeats(repeats);

  EXPECT_DOUBLE_EQ(pooled.value, 12.5);
  EXPECT_DOUBLE_EQ(pooled.interval->low, 10);
  EXPECT_DOUBLE_EQ(pooled.interval->high, 90);
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

TEST(Statistics, StudentsQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_quantile(1), 12.7062, 1e-3);
  EXPECT_NEAR(student_quantile(4), 2.7764, 1e-3);
  EXPECT_NEAR(student_quantile(5), 2.5706, 1e-3);
  EXPECT_NEAR(student_quantile(10), 2.2281, 1e-3);
  EXPECT_NEAR(student_quantile(30), 2.0423, 1e-3);
  EXPECT_NEAR(student_quantile(100000), 1.9600, 1e-3);
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

}  // namespace
}  // namespace multicard::post
