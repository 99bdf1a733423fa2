#include "base/Estimate.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

Estimate estimate(double value, double low, double high, Basis basis = Basis::repeats) {
  return {value, Interval{low, high}, basis, 3};
}

TEST(Estimate, FiveValuesBoundNoMedianAndSixDoByTheirExtremes) {
  // 1 - 2 / 2^5 = 0.9375 is too little; 1 - 2 / 2^6 = 0.96875 is enough.
  EXPECT_FALSE(median_interval({1, 2, 3, 4, 5}));

  const auto six = median_interval({6, 5, 4, 3, 2, 1});

  ASSERT_TRUE(six);
  EXPECT_DOUBLE_EQ(six->low, 1);
  EXPECT_DOUBLE_EQ(six->high, 6);
}

TEST(Estimate, NineValuesUseTheSecondFromEachEnd) {
  // P(Bin(9, 1/2) <= 1) = 10 / 512: 1 - 2 * 0.01953 = 0.961. One more, (10 + 36) / 512, would cover 0.82 only.
  const auto nine = median_interval({9, 8, 7, 6, 5, 4, 3, 2, 1});

  ASSERT_TRUE(nine);
  EXPECT_DOUBLE_EQ(nine->low, 2);
  EXPECT_DOUBLE_EQ(nine->high, 8);
}

TEST(Estimate, AHundredValuesUseTheFortiethAndTheSixtyFirst) {
  // The tables' entry for n = 100: order statistics 40 and 61, coverage 0.965.
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i)
    values.push_back(i);

  const auto interval = median_interval(values);

  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low, 40);
  EXPECT_DOUBLE_EQ(interval->high, 61);
}

TEST(Estimate, AMillionValuesAreNoProblem) {
  // Normal approximation: k = n/2 - 0.98 sqrt(n) = 500000 - 980.
  std::vector<double> values(1000000);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i + 1);

  const auto interval = median_interval(values);

  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 499020, 3);
  EXPECT_NEAR(interval->high, 500981, 3);
}

TEST(Estimate, FewRepeatsUseStudentsTOnLogarithms) {
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

TEST(Estimate, TwoRepeatsFarApartBoundLittleButStayPositive) {
  // ln 1 = 0 and ln 4 = 1.386294: mean 0.693147, half = 12.7062 * 0.980258 / sqrt(2) = 8.80739.
  const auto two = student_interval({1, 4});

  ASSERT_TRUE(two);
  EXPECT_NEAR(two->low, 2 * std::exp(-8.80739), 1e-6);
  EXPECT_NEAR(two->high / (2 * std::exp(8.80739)), 1, 1e-3);
}

TEST(Estimate, StepsOfOneRunSayThatTheyAreSteps) {
  const Estimate few = estimate_of_steps({1, 2, 3});
  const Estimate enough = estimate_of_steps({1, 2, 3, 4, 5, 6, 7});

  EXPECT_EQ(few.basis, Basis::none);
  EXPECT_FALSE(few.interval);
  EXPECT_DOUBLE_EQ(few.value, 2);
  EXPECT_EQ(enough.basis, Basis::steps);
  EXPECT_EQ(enough.num_values, 7);
}

TEST(Estimate, RepeatsReplaceTheIntervalsOfTheirSteps) {
  const Estimate one = estimate_of_repeats({estimate(100, 90, 110, Basis::steps)});
  const Estimate three = estimate_of_repeats({estimate(99, 1, 1000, Basis::steps), estimate(101, 1, 1000, Basis::steps),
                                              estimate(100, 1, 1000, Basis::steps)});

  EXPECT_EQ(one.basis, Basis::steps);
  EXPECT_DOUBLE_EQ(one.interval->low, 90);
  EXPECT_EQ(three.basis, Basis::repeats);
  EXPECT_DOUBLE_EQ(three.value, 100);
  EXPECT_NEAR(three.interval->low, 97.5431, 1e-3);
}

TEST(Estimate, SixRepeatsNeedNoDistribution) {
  std::vector<Estimate> repeats;
  for (const double value : {10.0, 11.0, 12.0, 13.0, 14.0, 90.0})
    repeats.push_back(estimate(value, value, value, Basis::steps));

  const Estimate pooled = estimate_of_repeats(repeats);

  EXPECT_DOUBLE_EQ(pooled.value, 12.5);
  EXPECT_DOUBLE_EQ(pooled.interval->low, 10);
  EXPECT_DOUBLE_EQ(pooled.interval->high, 90);
}

TEST(Estimate, StudentsQuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_quantile(1), 12.7062, 1e-3);
  EXPECT_NEAR(student_quantile(4), 2.7764, 1e-3);
  EXPECT_NEAR(student_quantile(5), 2.5706, 1e-3);
  EXPECT_NEAR(student_quantile(10), 2.2281, 1e-3);
  EXPECT_NEAR(student_quantile(30), 2.0423, 1e-3);
  EXPECT_NEAR(student_quantile(100000), 1.9600, 1e-3);
}

}  // namespace
}  // namespace multicard
