#include "postproc/study/Collection.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "SyntheticStudy.hpp"
#include "base/Error.hpp"
#include "postproc/study/Evaluation.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

TEST(ReadResults, ARunCountsOnce) {
  const test::ScratchFolder folder;
  test::write_run(folder / "results.h5", {});
  std::filesystem::copy_file(folder / "results.h5", folder / "copy.h5");

  const Collection collection = read_results({folder / "results.h5", folder / "results.h5", folder / "copy.h5"});

  ASSERT_EQ(collection.studies.size(), 1u);
  EXPECT_EQ(collection.studies[0].runs.size(), 1u);
  ASSERT_EQ(collection.notices.size(), 2u);
  EXPECT_EQ(collection.notices[1], "1 run of '" + (folder / "copy.h5") + "' is already in '" + (folder / "results.h5") +
                                       "' and is counted only once.");
}

TEST(ReadResults, RunsThatMeasuredOtherTimesAreRepeats) {
  const test::ScratchFolder folder;
  test::SyntheticRun run;
  test::write_run(folder / "a.h5", run);
  run.row_seconds *= 1.001;
  test::write_run(folder / "b.h5", run);

  const Collection collection = read_results({folder / "a.h5", folder / "b.h5"});

  ASSERT_EQ(collection.studies.size(), 1u);
  ASSERT_EQ(collection.studies[0].cells.size(), 1u);
  EXPECT_EQ(collection.studies[0].cells[0].num_repeats(), 2);
  EXPECT_TRUE(collection.notices.empty());
}

TEST(ReadResults, FilesThatVaryOtherSettingsAreOtherStudies) {
  const test::ScratchFolder folder;
  const auto write = [&](const std::string& name, const std::string& key, const std::vector<std::string>& values) {
    std::vector<std::string> partial;
    for (const std::string& value : values) {
      test::SyntheticRun run;
      run.name = value;
      run.settings[key] = value;
      run.row_seconds *= 1 + 0.01 * static_cast<double>(name.size());  // no file repeats another's times
      partial.push_back(folder / (name + value));
      test::write_run(partial.back(), run);
    }
    assemble_results(folder / name, partial, test::synthetic_provenance(2));
  };
  write("precisions.h5", "precision", {"fp32", "fp16"});
  write("layouts.h5", "data.layout", {"nchw", "nhwc"});
  write("more.h5", "precision", {"fp32", "bf16"});

  const Collection collection = read_results({folder / "precisions.h5", folder / "layouts.h5", folder / "more.h5"});

  ASSERT_EQ(collection.studies.size(), 2u);
  EXPECT_EQ(collection.studies[0].sources.size(), 2u);  // the same sweep over other values
  EXPECT_EQ(collection.studies[0].axes[0].values, (std::vector<std::string>{"fp16", "fp32", "bf16"}));
  EXPECT_EQ(collection.studies[0].title(), "Precision on 2 ranks");
  EXPECT_EQ(collection.studies[1].axes[0].key, "data.layout");
  EXPECT_EQ(collection.studies[1].id, "study-2");
}

TEST(ReadResults, ImageAndTextWorkOfOneFileAreTwoStudies) {
  const test::ScratchFolder folder;
  std::vector<std::string> partial;
  for (const char* task : {"image", "llm"}) {
    test::SyntheticRun run;
    run.name = task;
    run.settings["task"] = task;
    partial.push_back(folder / task);
    test::write_run(partial.back(), run);
  }
  RunSummary lost;
  lost.name = "lost";
  lost.status = "failed";
  assemble_results(folder / "results.h5", partial, test::synthetic_provenance(2), {lost});

  const Collection collection = read_results({folder / "results.h5"});
  ASSERT_EQ(collection.studies.size(), 2u);
  EXPECT_EQ(collection.studies[0].runs.size(), 2u) << "with the one of which nothing is known";
  EXPECT_EQ(collection.studies[1].runs.size(), 1u);
  for (const Study& study : collection.studies)
    EXPECT_TRUE(study.axes.empty());
}

TEST(ReadResults, QuickRunsSayThatTheyAreNoStudy) {
  const test::ScratchFolder folder;
  test::SyntheticRun run;
  run.is_quick = true;
  test::write_run(folder / "results.h5", run);

  const Collection collection = read_results({folder / "results.h5"});

  ASSERT_EQ(collection.notices.size(), 1u);
  EXPECT_EQ(collection.notices[0],
            "These are quick runs with smaller sizes and fewer steps (40 steps each): they show that everything works. "
            "Quick mode: do not quote these numbers.");
  EXPECT_TRUE(collection.studies[0].axes.empty());
}

TEST(ReadResults, AnEvaluationIsReadWithItsClassesAndMistakes) {
  const test::ScratchFolder folder;
  test::write_evaluation(folder / "results.h5", 10);

  const Collection collection = read_results({folder / "results.h5"});

  EXPECT_TRUE(collection.studies.empty());
  ASSERT_EQ(collection.evaluated.size(), 1u);
  const EvaluationReport& report = *collection.evaluated[0].evaluation;
  // Classes 0 to 9 lose 1 + i % 7 of 100: 10 + (0 + 1 + 2 + 3 + 4 + 5 + 6 + 0 + 1 + 2) = 34 of 1,000.
  EXPECT_DOUBLE_EQ(report.accuracy.value, 0.966);
  EXPECT_EQ(report.samples, 1000);
  EXPECT_DOUBLE_EQ(report.top5, 0.998);
  EXPECT_EQ(report.classes[6].name, "class 6");
  EXPECT_EQ(report.classes[6].correct, 93);
  EXPECT_EQ(report.classes[7].predicted, 106);  // its own 99, 6 of class 6, 1 of class 5
  EXPECT_EQ(confusion_finding(report).text, "class 6 is taken for class 7 most often: 6 of 100");
}

TEST(ReadResults, WhatIsNoResultsFileIsADataError) {
  EXPECT_THROW(read_results({"/nonexistent/results.h5"}), DataError);
}

TEST(ReadResults, ReadsWhatTheWriterWrote) {
  const test::ScratchFolder folder;
  test::SyntheticRun run;
  run.noise = 0;
  test::write_run(folder / "results.h5", run);

  const Collection collection = read_results({folder / "results.h5"});
  ASSERT_EQ(collection.studies.size(), 1u);
  const Study& study = collection.studies[0];

  ASSERT_EQ(study.runs.size(), 1u);
  // 32 rows of 4 ms on each of 2 ranks, data 6 ms, transfer 1, collectives 6 ms * log2(4), other 0.5:
  // 0.128 + 0.006 + 0.001 + 0.012 + 0.0005 = 0.1475 s; 64 rows.
  EXPECT_NEAR(study.runs[0].step_time.value, 0.1475, 1e-9);
  EXPECT_NEAR(study.runs[0].rate.value, 64 / 0.1475, 1e-6);
  EXPECT_NEAR(study.runs[0].exposed_share, 0.012 / 0.1475, 1e-9);
  EXPECT_EQ(study.runs[0].memory.at("model/parameters"), 8960000);
  EXPECT_EQ(study.sources[0].provenance.at("hosts"), "node01 ×2");
  EXPECT_EQ(study.sources[0].attributes.at("command_line"), "multicard sweep inputs/sweeps/strategies.yaml");
}

}  // namespace
}  // namespace multicard::post
