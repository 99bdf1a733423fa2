#include "train/ExchangeTrials.hpp"

#include <cmath>
#include <functional>

#include <gmock/gmock.h>

namespace multicard {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

namespace {

ExchangeOptions measured(bool bucket, bool dtype) {
  ExchangeOptions options;
  options.measures_bucket = bucket;
  options.measures_dtype = dtype;
  return options;
}

// Of 100 MB: sizes 0.25, 1, 16, 64 and all, besides the fixed rule's 4 MiB.
constexpr ExchangeFacts kFacts{2, 100'000'000, std::int64_t{4} << 20, 1000};

/// Steps of a machine on which `time_of` says how long a setting takes; every step is longer than the one before by a
/// thousandth, and by up to 1 % more or less. Returns their number.
int run(ExchangeTrials& trials, const std::function<double(const ExchangeSetting&)>& time_of) {
  int num_steps = 0;
  for (; trials.is_under_way(); ++num_steps)
    trials.note(time_of(trials.setting()) * (1 + 0.001 * num_steps) * (1 + 0.01 * std::sin(37.0 * num_steps)));
  return num_steps;
}

double best_at_16(const ExchangeSetting& setting) {
  const double size = setting.bucket_mb.value_or(4);
  return (1 + 0.2 * std::abs(std::log2(size / 16))) * (setting.gradient_dtype == CommDtype::bf16 ? 0.7 : 1);
}

}  // namespace

TEST(ExchangeTrials, TriesNothingWhereBothAreFixed) {
  ExchangeOptions options;
  options.bucket_mb = 3;
  options.gradient_dtype = CommDtype::fp16;
  const ExchangeTrials trials(options, kFacts);
  EXPECT_FALSE(trials.is_under_way());
  EXPECT_EQ(trials.setting(), (ExchangeSetting{3, CommDtype::fp16}));
  EXPECT_TRUE(trials.reasons().empty());
  EXPECT_TRUE(trials.numbers().empty());
}

TEST(ExchangeTrials, TakesTheFastestBucketSize) {
  ExchangeTrials trials(measured(true, false), kFacts);
  EXPECT_EQ(run(trials, best_at_16), 6 * 10);
  EXPECT_EQ(trials.setting(), (ExchangeSetting{16, CommDtype::same}));
  EXPECT_THAT(trials.reasons().at("bucket_mb"), StartsWith("16: steps take 0.7"));
  EXPECT_THAT(trials.reasons().at("bucket_mb"), HasSubstr("of the time with auto, 9 rounds"));
}

TEST(ExchangeTrials, ChoosesTheDtypeFirstAndSizesWithIt) {
  ExchangeTrials trials(measured(true, true), kFacts);
  EXPECT_EQ(run(trials, best_at_16), 2 * 10 + 6 * 10);
  EXPECT_EQ(trials.setting(), (ExchangeSetting{16, CommDtype::bf16}));
  EXPECT_THAT(trials.reasons().at("gradient_dtype"), StartsWith("bf16: steps take 0.7"));
}

TEST(ExchangeTrials, KeepsTheDefaultWhereNothingIsClearlyFaster) {
  ExchangeTrials trials(measured(true, true), kFacts);
  // 3 % less is clear, and too little to change numbers for.
  run(trials, [](const ExchangeSetting& setting) { return setting.gradient_dtype == CommDtype::bf16 ? 0.97 : 1; });
  EXPECT_EQ(trials.setting(), ExchangeSetting{});
  EXPECT_THAT(trials.reasons().at("gradient_dtype"),
              StartsWith("same: no other setting is clearly faster; with bf16 steps take 0.9"));
  EXPECT_THAT(trials.reasons().at("bucket_mb"), StartsWith("auto: no other setting is clearly faster; with "));
}

TEST(ExchangeTrials, IgnoresOneSlowStepAndTheFirstRound) {
  ExchangeTrials trials(measured(false, true), kFacts);
  int step = 0;
  run(trials, [&](const ExchangeSetting& setting) {
    const bool is_16_bit = setting.gradient_dtype == CommDtype::bf16;
    const bool is_outlier = step == 0 || step == 7;
    ++step;
    return (is_16_bit ? 0.6 : 1.0) * (is_outlier ? 100 : 1);
  });
  EXPECT_EQ(trials.setting().gradient_dtype, CommDtype::bf16);
}

TEST(ExchangeTrials, TakesAtMostHalfOfTheSteps) {
  ExchangeFacts facts = kFacts;
  facts.num_steps = 2 * (14 + 6 * 8);
  ExchangeTrials trials(measured(true, true), facts);
  EXPECT_LE(run(trials, best_at_16), facts.num_steps / 2);
  EXPECT_THAT(trials.reasons().at("gradient_dtype"), HasSubstr("9 rounds"));

  facts.num_steps = 27;
  ExchangeTrials none(measured(true, true), facts);
  EXPECT_FALSE(none.is_under_way());
  EXPECT_EQ(none.setting(), ExchangeSetting{});
  EXPECT_EQ(none.reasons().at("gradient_dtype"),
            "same: 2 settings need 14 steps to compare, and half of the run is less");
  EXPECT_TRUE(none.numbers().empty()) << "a longer run may still measure";
}

TEST(ExchangeTrials, TriesNothingOnOneRankOrWithOneBucket) {
  ExchangeFacts facts = kFacts;
  facts.num_ranks = 1;
  const ExchangeTrials alone(measured(true, true), facts);
  EXPECT_FALSE(alone.is_under_way());
  EXPECT_THAT(alone.reasons(), ElementsAre(Pair("bucket_mb", "auto: one rank exchanges nothing"),
                                           Pair("gradient_dtype", "same: one rank exchanges nothing")));
  facts = kFacts;
  facts.gradient_bytes = 250'000;
  const ExchangeTrials small(measured(true, false), facts);
  EXPECT_FALSE(small.is_under_way());
  EXPECT_EQ(small.reasons().at("bucket_mb"), "auto: all gradients are one bucket");
}

TEST(ExchangeTrials, ReusesAChoiceWhenResumed) {
  ExchangeTrials before(measured(true, true), kFacts);
  EXPECT_TRUE(before.numbers().empty());
  run(before, best_at_16);

  ExchangeTrials after(measured(true, true), kFacts);
  after.resume(before.numbers(), before.texts());
  EXPECT_FALSE(after.is_under_way());
  EXPECT_EQ(after.setting(), before.setting());
  EXPECT_EQ(after.reasons(), before.reasons());
  EXPECT_EQ(after.numbers(), before.numbers());
}

TEST(ExchangeTrials, MeasuresWhatWasNotChosenBefore) {
  ExchangeTrials before(measured(false, true), kFacts);
  run(before, best_at_16);

  ExchangeTrials after(measured(true, true), kFacts);
  after.resume(before.numbers(), before.texts());
  EXPECT_EQ(after.setting(), (ExchangeSetting{std::nullopt, CommDtype::bf16}));
  EXPECT_EQ(run(after, best_at_16), 6 * 10);
  EXPECT_EQ(after.setting(), (ExchangeSetting{16, CommDtype::bf16}));

  ExchangeOptions fixed;
  fixed.bucket_mb = 2;
  ExchangeTrials now_fixed(fixed, kFacts);
  now_fixed.resume(after.numbers(), after.texts());
  EXPECT_EQ(now_fixed.setting(), (ExchangeSetting{2, CommDtype::same})) << "what a deck says counts";
}

TEST(ExchangeTrials, ChoosesAlikeWhateverHappensOnceTold) {
  ExchangeTrials one(measured(true, true), kFacts), two(measured(true, true), kFacts);
  for (int step = 0; one.is_under_way(); ++step) {
    const double seconds = best_at_16(one.setting()) * (1 + 0.05 * std::sin(11.0 * step));
    one.note(seconds);
    two.note(seconds);
    ASSERT_EQ(one.setting(), two.setting()) << step;
  }
  EXPECT_FALSE(two.is_under_way());
}

}  // namespace multicard
