#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "postproc/figures/Figures.hpp"
#include "postproc/study/OptionEffect.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/Rules.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

using Settings = std::map<std::string, std::string>;

/// Precision by pinned memory by image size, three repeats. fp16 does `fp16` times the rate of fp32, pinned 1.1 times;
/// the machine is slower in later repeats by a third each, and every run differs by up to 1 % in its own way.
std::vector<RunReport> runs_with(double fp16) {
  std::vector<RunReport> runs;
  int number = 0;
  for (int repeat = 0; repeat < 3; ++repeat)
    for (const char* size : {"100", "200"})
      for (const char* precision : {"fp32", "fp16"})
        for (const char* pinned : {"false", "true"}) {
          double rate = 1000 * std::pow(0.75, repeat) * (1 + 0.01 * std::sin(12.9898 * ++number));
          rate *= std::string(size) == "200" ? 0.25 : 1;
          rate *= std::string(precision) == "fp16" ? fp16 : 1;
          rate *= std::string(pinned) == "true" ? 1.1 : 1;
          runs.push_back(
              run_of(Settings{{"data.image_size", size}, {"precision", precision}, {"data.pin_memory", pinned}}, 2,
                     rate, repeat));
        }
  return runs;
}

const OptionEffect& effect_of(const std::vector<OptionEffect>& effects, const std::string& value) {
  return *std::find_if(effects.begin(), effects.end(),
                       [&](const OptionEffect& effect) { return effect.value == value; });
}

RunReport failed(RunReport run) {
  run.status = "failed";
  run.error = "out of memory";
  run.rate = {};
  return run;
}

TEST(OptionEffect, FindsWhatWasPlanted) {
  const std::vector<OptionEffect> effects = option_effects(study_of(runs_with(2)));

  ASSERT_EQ(effects.size(), 2u);  // the image size is work, not an option
  const OptionEffect& fp16 = effect_of(effects, "fp16");
  EXPECT_EQ(fp16.baseline, "fp32");
  EXPECT_EQ(fp16.num_cells, 4);
  EXPECT_EQ(fp16.ratio.num_values, 12);
  // Although the machine slows down to half: pairs are of one repeat.
  EXPECT_NEAR(fp16.ratio.value, 2, 0.02);
  EXPECT_LT(fp16.ratio.interval->high - fp16.ratio.interval->low, 0.06);
  EXPECT_LE(fp16.ratio.interval->low, 2);
  EXPECT_GE(fp16.ratio.interval->high, 2);
  EXPECT_TRUE(fp16.decided());
  EXPECT_NEAR(effect_of(effects, "true").ratio.value, 1.1, 0.015);
}

TEST(OptionEffect, PairsThatDidNotCompleteAreCountedNotCompared) {
  std::vector<RunReport> runs = runs_with(2);
  for (RunReport& run : runs)
    if (run.settings["precision"] == "fp16" && run.settings["data.image_size"] == "200") run = failed(run);

  const std::vector<OptionEffect> effects = option_effects(study_of(runs));

  EXPECT_EQ(effect_of(effects, "fp16").num_cells, 2);
  EXPECT_EQ(effect_of(effects, "fp16").num_unfinished, 2);
  EXPECT_NEAR(effect_of(effects, "fp16").ratio.value, 2, 0.03);
  EXPECT_EQ(effect_of(effects, "true").num_unfinished, 1);  // both fp16, 200 px: one pair
}

TEST(OptionEffect, WhatNeverCompletedIsUnknown) {
  const std::vector<OptionEffect> effects = option_effects(
      study_of({run_of({{"precision", "fp32"}}, 2, 100), failed(run_of({{"precision", "fp16"}}, 2, 1))}));

  ASSERT_EQ(effects.size(), 1u);
  EXPECT_FALSE(effects[0].ratio.known());
  EXPECT_FALSE(effects[0].decided());
  EXPECT_EQ(effects[0].num_unfinished, 1);
}

TEST(OptionEffect, SettingsThatChangedTogetherHaveNoEffectOfTheirOwn) {
  const std::vector<OptionEffect> effects =
      option_effects(study_of({run_of({{"precision", "fp32"}, {"data.layout", "nchw"}}, 2, 100),
                               run_of({{"precision", "fp16"}, {"data.layout", "nhwc"}}, 2, 300)}));

  EXPECT_TRUE(effects.empty());
}

TEST(OptionEffect, RanksAreNotMixed) {
  // On 1 rank ddp and dp are equal, on 4 ranks ddp does twice as much.
  const std::vector<OptionEffect> effects =
      option_effects(study_of({run_of({{"strategy", "dp"}}, 1, 100), run_of({{"strategy", "ddp"}}, 1, 100),
                               run_of({{"strategy", "dp"}}, 4, 150), run_of({{"strategy", "ddp"}}, 4, 300)}));

  ASSERT_EQ(effects.size(), 1u);
  EXPECT_NEAR(effects[0].ratio.value, std::sqrt(2.0), 1e-12);
  EXPECT_EQ(effects[0].ratio.basis, Basis::cells);
  EXPECT_DOUBLE_EQ(effects[0].least, 1);
  EXPECT_EQ(effects[0].least_at, "1 rank");
  EXPECT_DOUBLE_EQ(effects[0].most, 2);
  EXPECT_EQ(effects[0].most_at, "4 ranks");
}

TEST(OptionEffect, TheBaselineIsKnownByName) {
  EXPECT_EQ(baseline_value({"parallel.strategy", {"ddp", "dp"}, false}), "dp");
  EXPECT_EQ(baseline_value({"precision", {"fp64", "fp32", "fp16"}, false}), "fp32");
  EXPECT_EQ(baseline_value({"parallel.overlap", {"true", "false"}, false}), "false");
  EXPECT_EQ(baseline_value({"data.pin_memory", {"1", "0"}, false}), "0");
  EXPECT_EQ(baseline_value({"case", {"tuned", "plain"}, false}), "plain");
  EXPECT_EQ(baseline_value({"data.workers", {"2", "4"}, false}), "2");
}

TEST(Advice, NamesTheBestValueItsEffectAndWhatItRestsOn) {
  const std::vector<std::string> sentences = texts_of(advice_of(study_of(runs_with(2))));

  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[1].substr(0, 48), "Precision: use fp16, 2.00 times the rate of fp32");
  EXPECT_NE(sentences[1].find("over 12 pairs of runs in 4 cells"), std::string::npos) << sentences[1];
  EXPECT_NE(sentences[0].find("Pinned memory: use pinned, 1.10 times the rate of not pinned"), std::string::npos)
      << sentences[0];
}

TEST(Advice, WhatTheDataDoNotDecideIsNotDecided) {
  // Repeats of one setting differ by more than the settings do.
  std::vector<RunReport> runs;
  for (const auto& [repeat, rate] : {std::pair{0, 80.0}, {1, 100.0}, {2, 125.0}}) {
    runs.push_back(run_of({{"precision", "fp32"}}, 2, 100, repeat));
    runs.push_back(run_of({{"precision", "bf16"}}, 2, 1.02 * rate, repeat));
  }

  const std::vector<std::string> sentences = texts_of(advice_of(study_of(runs)));

  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_NE(sentences[0].find("the data do not support a choice"), std::string::npos) << sentences[0];
}

TEST(Advice, ValuesThatAreNotSignificantlyDifferentAreRecommendedTogether) {
  std::vector<RunReport> runs;
  for (const auto& [repeat, noise] : {std::pair{0, 0.98}, {1, 1.0}, {2, 1.02}})
    for (const auto& [precision, rate] : {std::pair{"fp32", 100.0}, {"fp16", 200.0 * noise}, {"bf16", 198.0 / noise}})
      runs.push_back(run_of({{"precision", precision}}, 2, rate, repeat));

  const std::vector<std::string> sentences = texts_of(advice_of(study_of(runs)));

  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_EQ(sentences[0].find(
                "Precision: use fp16 or bf16, which are not significantly different here: fp16: 2.00 times the rate "
                "of fp32 (95 % interval "),
            0u)
      << sentences[0];
  EXPECT_NE(sentences[0].find("; bf16: 1.98 times the rate of fp32 ("), std::string::npos) << sentences[0];
}

/// Precision by image size, each run once: bf16 does `small` and `large` times the rate of fp32.
Study run_once(double small, double large) {
  return study_of({run_of({{"image_size", "100"}, {"precision", "fp32"}}, 2, 400),
                   run_of({{"image_size", "100"}, {"precision", "bf16"}}, 2, 400 * small),
                   run_of({{"image_size", "200"}, {"precision", "fp32"}}, 2, 100),
                   run_of({{"image_size", "200"}, {"precision", "bf16"}}, 2, 100 * large)});
}

TEST(Advice, SingleRunsThatAreNotSignificantlyDifferentSupportNoChoice) {
  // The rates of a pair are known to 2 % each. Over both sizes bf16 is above 1 with its whole interval.
  const Study study = run_once(1.0385, 1.038);
  const OptionEffect effect = option_effects(study).at(0);
  ASSERT_TRUE(effect.decided());
  EXPECT_FALSE(effect.supported());

  EXPECT_EQ(advice_of(study).at(0).text.find("Precision: the data do not support a choice; against fp32, bf16: 1.04"),
            0u);
  EXPECT_NE(advice_of(study).at(0).text.find(
                " Bf16 was run once per cell and is significantly different from fp32 in 0 of 2 cells."),
            std::string::npos)
      << advice_of(study).at(0).text;
}

TEST(Advice, SingleRunsThatAreSignificantlyDifferentEverywhereDo) {
  EXPECT_EQ(advice_of(run_once(1.51, 1.5)).at(0).text.find("Precision: use bf16, 1.50 times the rate of fp32"), 0u)
      << advice_of(run_once(1.51, 1.5)).at(0).text;
}

TEST(Advice, WhatNeverCompletedDoesNotPreventAnAnswer) {
  std::vector<RunReport> runs = runs_with(0.5);
  runs.push_back(
      failed(run_of({{"data.image_size", "100"}, {"precision", "tf32"}, {"data.pin_memory", "true"}}, 2, 1)));

  const std::vector<std::string> sentences = texts_of(advice_of(study_of(runs)));

  EXPECT_NE(sentences[1].find("Precision: stay with fp32"), std::string::npos) << sentences[1];
  EXPECT_NE(sentences[1].find("tf32: did not complete"), std::string::npos) << sentences[1];
}

TEST(Advice, WhatMakesNoDifferenceHardlyMatters) {
  const std::vector<std::string> sentences = texts_of(advice_of(study_of(runs_with(1))));

  EXPECT_NE(sentences[1].find("Precision: it hardly matters"), std::string::npos) << sentences[1];
}

TEST(Advice, SlowerAlternativesLeaveThePlainValue) {
  const std::vector<std::string> sentences = texts_of(advice_of(study_of(runs_with(0.5))));

  EXPECT_NE(sentences[1].find("Precision: stay with fp32"), std::string::npos) << sentences[1];
}

TEST(Advice, SaysUpToHowManyRanksPay) {
  // Efficiency 0.9 on 2 ranks, 0.6 on 4.
  const std::vector<std::string> sentences =
      texts_of(advice_of(study_of({run_of({}, 1, 100), run_of({}, 2, 180), run_of({}, 4, 240)})));

  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_EQ(sentences[0], "Ranks: use 2; on more the efficiency falls below 0.8.");
}

TEST(Advice, SaysWhereTheEfficiencyIsNotClear) {
  // 0.825 with an interval of about 0.80 to 0.85 by 2 % each way: 0.825 exp(-0.0283) = 0.802; 0.81: 0.787 to 0.833.
  EXPECT_EQ(advice_of(study_of({run_of({}, 1, 100), run_of({}, 2, 165)}))[0].text.find("repeat the runs"),
            std::string::npos);
  EXPECT_NE(advice_of(study_of({run_of({}, 1, 100), run_of({}, 2, 162)}))[0].text.find("repeat the runs"),
            std::string::npos);
}

TEST(OptionFigure, HasADotAnOptionAndACrossForWhatNeverCompleted) {
  std::vector<RunReport> runs = runs_with(2);
  for (const RunReport& run : runs_with(2))
    if (run.settings.at("precision") == "fp32") {
      runs.push_back(failed(run));
      runs.back().settings["precision"] = "fp64";
    }

  std::vector<Figure> figures;
  add_option_figures(study_of(runs), figures);

  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].title, "fp16 instead of fp32 changes most: 2 times the rate");
  EXPECT_NE(figures[0].drawing.script.find("'fp64 instead of fp32'"), std::string::npos);
  EXPECT_NE(figures[0].drawing.script.find("'did not complete'"), std::string::npos);
  EXPECT_NE(figures[0].drawing.script.find("'2.00'"), std::string::npos);
}

}  // namespace
}  // namespace multicard::post
