#include "postproc/study/Learning.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "postproc/figures/Figures.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/study/Answer.hpp"
#include "postproc/study/OptionEffect.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/Rules.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

RunReport tuned(std::map<std::string, std::string> settings, double rate, double loss, std::int64_t repeat = 0) {
  RunReport run = run_of(std::move(settings), 2, rate, repeat);
  run.metrics["eval_loss"] = {{3, loss}, {0, 30}};
  return run;
}

/// The slower learning rate learns better.
Study two_rates() {
  return study_of(
      {tuned({{"optimizer.learning_rate", "0.01"}}, 200, 2.5), tuned({{"optimizer.learning_rate", "0.02"}}, 100, 2)});
}

TEST(Learning, TheTestLossAndNotTheSpeedChoosesALearningRate) {
  const Study study = two_rates();

  const std::vector<std::string> sentences = texts_of(answer(study));

  EXPECT_EQ(sentences[0], "Of 2 configurations, the lowest test loss is that of learning rate 0.02 on 2 ranks: 2.");
  EXPECT_EQ(
      sentences[1],
      "They differ in learning rate, which does not change the work: 100 to 200 rows/s on 2 ranks does not decide "
      "between them.");
  EXPECT_EQ(texts_of(advice_of(study)),
            std::vector<std::string>{"Learning rate: it does not change the work, so that speed does "
                                     "not choose; the lowest test loss is that of learning rate 0.02 (each was "
                                     "run once)."});
  EXPECT_TRUE(option_effects(study).empty());
  EXPECT_EQ(runner_up(study, {0, 1}, study.cells[0]), nullptr);
}

TEST(Learning, ATieHasNoBestLearner) {
  const Study study = study_of(
      {tuned({{"optimizer.learning_rate", "0.01"}}, 200, 2), tuned({{"optimizer.learning_rate", "0.02"}}, 100, 2)});

  EXPECT_TRUE(has(answer(study)[0].text, "several share the lowest test loss: 2"));
  EXPECT_TRUE(advice_of(study).empty());
}

TEST(Learning, WithoutATestTheReportSaysThatNothingChooses) {
  Study study = two_rates();
  for (RunReport& run : study.runs)
    run.metrics["eval_loss"] = {{3}, {0}};  // before the first step
  study = study_of(study.runs);

  EXPECT_FALSE(learning_score(study));
  EXPECT_TRUE(has(answer(study)[0].text, "no test loss was measured to compare them by"));
  EXPECT_TRUE(has(advice_of(study)[0].text, "no test loss was measured to choose by"));
  EXPECT_FALSE(has(terminal_table(collection_of(study)), "repeats  test loss"));
}

TEST(Learning, OptionsAreStillComparedBySpeed) {
  std::vector<RunReport> runs;
  for (const char* rate : {"0.01", "0.02"})
    for (const char* strategy : {"dp", "ddp"})
      runs.push_back(tuned({{"optimizer.learning_rate", rate}, {"parallel.strategy", strategy}},
                           std::string(strategy) == "dp" ? 100 : 200, std::string(rate) == "0.01" ? 2 : 3));
  const Study study = study_of(runs);

  const std::vector<std::string> sentences = texts_of(answer(study));

  EXPECT_TRUE(has(sentences[0], "The fastest of 4 configurations is ")) << sentences[0];
  EXPECT_TRUE(has(sentences[1], "2.00 times the rate of the runner-up, "))
      << sentences[1];  // not the other learning rate
  EXPECT_TRUE(std::any_of(sentences.begin(), sentences.end(), [](const std::string& sentence) {
    return has(sentence, "Speed does not choose the learning rate: the lowest test loss is that of ");
  }));
  ASSERT_EQ(option_effects(study).size(), 1u);
  EXPECT_EQ(option_effects(study)[0].key, "parallel.strategy");
}

TEST(Learning, TheLossOfACellIsThatOfItsCompleteRepeats) {
  std::vector<RunReport> runs{tuned({}, 100, 2, 0), tuned({}, 100, 2.1, 1), tuned({}, 100, 9, 2)};
  runs[2].status = "stopped";
  const Study study = study_of(runs);
  const Study equal = study_of({tuned({}, 100, 2, 0), tuned({}, 100, 2, 1)});

  EXPECT_DOUBLE_EQ(study.cells[0].test_loss.value, 2.05);
  EXPECT_TRUE(study.cells[0].test_loss.interval);
  EXPECT_DOUBLE_EQ(equal.cells[0].test_loss.value, 2);
  EXPECT_FALSE(equal.cells[0].test_loss.interval);
  EXPECT_TRUE(has(terminal_table(collection_of(equal)), "test loss"));
  EXPECT_TRUE(has(cells_csv(collection_of(equal)), ",test_loss,test_loss_low,test_loss_high,test_accuracy,"));
}

TEST(Learning, AccuracySpeaksWhereItWasMeasured) {
  Study study = two_rates();
  study.runs[0].metrics["eval_accuracy"] = {{0.9}, {30}};
  study.runs[1].metrics["eval_accuracy"] = {{0.8}, {30}};

  EXPECT_TRUE(has(answer(study_of(study.runs))[0].text, "the highest test accuracy is that of learning rate 0.01"));
}

}  // namespace
}  // namespace multicard::post
