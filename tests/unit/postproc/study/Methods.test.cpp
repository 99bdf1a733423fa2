#include "postproc/study/Methods.hpp"

#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/study/CountedMethods.hpp"
#include "runs_in_memory.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr std::int64_t kGb = 1'000'000'000;

/// A run of a method that takes `peak_gb` at `rate` tokens a second, on two ranks of CPUs.
RunReport run_of_method(const std::string& method, double rate, std::int64_t peak_gb) {
  RunReport run =
      run_of({{"case", method}, {"method", "{name: " + method + "}"}, {"device", "cpu (Any, 1 thread)"}}, 2, rate);
  run.deck = "model:\n  dtype: bf16\nmethod:\n  name: " + method + "\nrun:\n  global_batch: 4\n";
  run.unit = "tokens";
  run.text = TextReport{};
  run.memory = {{"host_peak_bytes", peak_gb * kGb}, {"device_peak_bytes", 0},          {"model/parameters", kGb / 10},
                {"model/frozen", 3 * kGb / 10},     {"model/adapters", kGb / 10},      {"model/reference", kGb / 10},
                {"model/gradients", kGb / 10},      {"model/optimizer", 2 * kGb / 10}, {"model/activations", kGb / 10}};
  run.transfers["host_to_device"] = 0;
  run.communication["all_reduce"] = {30, 3e6, 6e6, 1, 1};
  return run;
}

void score(RunReport& run, const char* metric, double value) {
  run.metrics[metric] = {{value}, {30}};
  run.metrics["eval_samples"] = {{50}, {30}};
}

Study small_study() {
  std::vector<RunReport> runs{run_of_method("full", 80, 4), run_of_method("lora", 120, 2),
                              run_of_method("qlora", 100, 1), run_of_method("dpo", 70, 5),
                              run_of_method("lora-dpo", 90, 2)};
  for (std::size_t i = 0; i < 3; ++i)
    score(runs[i], "eval_loss", 1.5 + 0.1 * static_cast<double>(i));
  score(runs[3], "eval_reward_accuracy", 0.7);
  score(runs[4], "eval_reward_accuracy", 0.6);
  runs[3].metrics["eval_loss"] = runs[4].metrics["eval_loss"] = {{0.69}, {30}};
  return study_of(runs);
}

TEST(Methods, ACaseOfOneMethodEachIsTheAxis) {
  const Study study = small_study();

  ASSERT_EQ(study.axes.size(), 1U);
  EXPECT_EQ(study.axes[0].key, "case");
  EXPECT_TRUE(study.axes[0].is_work);
  EXPECT_EQ(study.configurations[1].full_label(), "lora");
  EXPECT_TRUE(compares_methods(study));
  EXPECT_EQ(study.kind, StudyKind::methods);
}

TEST(Methods, CasesThatShareAMethodAreOptionsOfIt) {
  std::vector<RunReport> runs{run_of_method("lora", 120, 2), run_of_method("lora", 120, 2),
                              run_of_method("full", 80, 4)};
  runs[0].settings["case"] = "overlapped";
  runs[1].settings["case"] = "plain";
  const Study study = study_of(runs);

  EXPECT_EQ(study.comparable().size(), 2U);
  EXPECT_EQ(study.comparable()[0].size(), 2U);
}

TEST(Methods, OneMethodIsNoComparison) {
  EXPECT_FALSE(compares_methods(study_of({run_of_method("lora", 120, 2), run_of_method("lora", 110, 2)})));
}

TEST(Methods, MemoryIsSplitIntoTensorsAndWhatIsLeftOfThePeak) {
  const MethodCell lora = method_cells(small_study())[1];

  ASSERT_TRUE(lora.memory);
  EXPECT_FALSE(lora.memory->on_device);
  EXPECT_DOUBLE_EQ(lora.memory->peak, 2e9);
  EXPECT_NEAR(lora.memory->weights, 0.2e9, 1);  // trained and frozen, without adapters and reference
  EXPECT_NEAR(lora.memory->rest, (2 - 0.2 - 0.1 - 0.1 - 0.1 - 0.2) * 1e9, 1);
}

TEST(Methods, OnAGpuThePeakIsThatOfItsTensors) {
  RunReport run = run_of_method("lora", 120, 9);
  run.memory["device_peak_bytes"] = 3 * kGb;
  const Study study = study_of({run, run_of_method("full", 80, 4)});

  const MethodCell lora = method_cells(study)[0];
  EXPECT_TRUE(lora.memory->on_device);
  EXPECT_DOUBLE_EQ(lora.memory->peak, 3e9);
}

TEST(Methods, FilesWithoutThePartsHaveNoSplit) {
  RunReport run = run_of_method("lora", 120, 2);
  run.memory.erase("model/reference");
  const Study study = study_of({run, run_of_method("full", 80, 4)});

  EXPECT_FALSE(method_cells(study)[0].memory);
  EXPECT_TRUE(method_cells(study)[1].memory);
}

TEST(Methods, BytesAreThoseOfAStep) {
  const MethodCell lora = method_cells(small_study())[1];

  EXPECT_DOUBLE_EQ(lora.reduced, 1e5);  // 3 MB in 30 steps
  EXPECT_DOUBLE_EQ(lora.on_bus, 2e5);
}

TEST(Methods, LossesOfPreferencesAreNotHeldOutLosses) {
  const std::vector<MethodCell> cells = method_cells(small_study());

  EXPECT_DOUBLE_EQ(cells[1].held_out_loss.value, 1.6);
  EXPECT_FALSE(cells[1].preference_accuracy.known());
  EXPECT_FALSE(cells[3].held_out_loss.known());
  EXPECT_DOUBLE_EQ(cells[3].preference_accuracy.value, 0.7);
  ASSERT_TRUE(cells[3].preference_accuracy.interval);  // Wilson's of 35 of 50
  EXPECT_NEAR(cells[3].preference_accuracy.interval->low, 0.562, 0.001);
}

TEST(BestMethods, AreOneSentenceOfTheLeastMemoryAndTheBestScore) {
  const Finding best = best_methods_finding(small_study());

  EXPECT_EQ(best.id, "methods-best-2");
  EXPECT_EQ(best.text,
            "Least host memory: qlora, 1 GB; best held-out loss 1.5 (one run each): full, 4 GB (next-token prediction "
            "on 2 ranks).");
  EXPECT_TRUE(best_methods_finding(study_of({run_of_method("full", 80, 4)})).empty());
}

TEST(MemoryLimits, NameWhatFitsTheFastestAndTheTrade) {
  const std::vector<std::string> sentences = texts_of(memory_limit_findings(small_study()));

  ASSERT_GE(sentences.size(), 3U);
  EXPECT_EQ(
      sentences[0],
      "Next-token prediction on 2 ranks: qlora needs the least host memory, 1 GB, for 100.0 (98.0–102.0) tokens/s; "
      "lora is measurably faster, 1.20 times the rate for 2.00 times the memory; best held-out loss 1.5: full, from 4 "
      "GB.");
  EXPECT_TRUE(has(sentences[1], "Preferences on 2 ranks"));
  EXPECT_FALSE(has(sentences[1], "best preference accuracy")) << "their intervals overlap";
  EXPECT_FALSE(has(sentences[1], "qlora"));
  EXPECT_TRUE(has(sentences[2], "Rates and scores of the two objectives do not compare"));
}

TEST(MemoryLimits, DoNotClaimADifferenceWithinTheIntervals) {
  const Study study = study_of({run_of_method("lora", 101, 2), run_of_method("qlora", 100, 1)});

  EXPECT_TRUE(has(memory_limit_findings(study)[0].text, "none that needs more is measurably faster"));
}

TEST(MemoryLimits, AMethodIsDominatedByAFasterOneThatNeedsNoMore) {
  const Study study = small_study();
  const std::vector<MethodCell> cells = method_cells(study);

  std::vector<std::string> dominated, best;
  for (const MethodLimit& limit : method_limits(study, cells)) {
    if (limit.is_dominated) dominated.push_back(limit.cell->label);
    if (limit.learns_best) best.push_back(limit.cell->label);
  }

  EXPECT_EQ(dominated, (std::vector<std::string>{"full", "dpo"}));
  EXPECT_EQ(best, std::vector<std::string>{"full"});
}

TEST(MemoryLimits, TheTableHasTheMostRanksThatCompare) {
  std::vector<RunReport> runs{run_of_method("full", 80, 4), run_of_method("lora", 120, 2),
                              run_of_method("lora", 200, 2), run_of_method("dpo", 70, 5)};
  runs[2].ranks = 4;
  runs[2].settings["ranks"] = "4";
  runs[3].ranks = 1;
  runs[3].settings["ranks"] = "1";
  const Study study = study_of(runs);
  const std::vector<MethodCell> cells = method_cells(study);

  std::vector<int> ranks;
  for (const MethodLimit& limit : method_limits(study, cells))
    ranks.push_back(limit.cell->cell->ranks);

  EXPECT_EQ(ranks, (std::vector<int>{2, 2, 1}));
  EXPECT_TRUE(has(method_limits_html(study), "next-token prediction on 2 ranks, preferences on 1 rank"));
}

TEST(Fairness, WhatDiffersIsWarnedOf) {
  std::vector<RunReport> runs{run_of_method("lora", 120, 2), run_of_method("full", 80, 4)};
  EXPECT_EQ(fairness_sentences(study_of(runs)),
            std::vector<std::string>{"Equal in all runs: rows a step 4, type of frozen weights bf16."});

  runs[1].deck = "model:\n  dtype: fp32\nmethod:\n  name: full\nrun:\n  global_batch: 4\n";
  const std::vector<std::string> sentences = fairness_sentences(study_of(runs));
  EXPECT_EQ(sentences[0],
            "Warning: not equal, so not a fair comparison: type of frozen weights is bf16 for lora; fp32 for full.");
  EXPECT_EQ(sentences[1], "Equal in all runs: rows a step 4.");
}

TEST(PageMethods, CpusCopyNothing) {
  const std::string html = methods_html(small_study());

  EXPECT_TRUE(has(html, "none on CPU"));
  EXPECT_TRUE(has(html, "reference copy"));
  EXPECT_FALSE(has(html, "0 B"));
}

TEST(MethodFigures, ThereIsOneOfEachKindOfNumber) {
  const std::vector<Figure> figures = plan_figures(small_study());

  std::vector<std::string> ids;
  ids.reserve(figures.size());
  for (const Figure& figure : figures)
    ids.push_back(figure.id);
  for (const char* id : {"methods-time", "methods-rate", "methods-memory", "methods-bus", "methods-loss",
                         "methods-accuracy", "methods-limits", "methods-limits-preference"})
    EXPECT_EQ(std::count(ids.begin(), ids.end(), id), 1) << id;
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "methods-host_to_device"), 0);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), "memory"), 0);
}

constexpr const char* kCounts =
    "method,model,checkpointing,tokens,kernels,matrix_products,flops,host_to_device_bytes,device_to_device_bytes,"
    "all_reduce_bytes,peak_bytes,weights_bytes,adapters_bytes,gradients_bytes,optimizer_bytes,reference_bytes\n"
    "lora,shape,1,2048,90,10,1e12,16,0,8,100,50,10,10,20,0\n"
    "\"lora-dpo, cached\",shape,1,2048,100,15,1e12,16,0,8,100,50,10,10,20,0\n"
    "lora-dpo,shape,0,2048,100,15,1e12,16,0,8,100,50,10,10,20,0\n";

TEST(CountedMethods, AreComparedWithLoraOnTheSameTokens) {
  const test::ScratchFolder scratch;
  std::ofstream(scratch / "counts.csv") << kCounts;

  const std::vector<CountedMethod> methods = read_counted_methods(scratch / "counts.csv");

  ASSERT_EQ(methods.size(), 3U);
  EXPECT_EQ(methods[1].method, "lora-dpo, cached");
  EXPECT_DOUBLE_EQ(methods[0].rest(), 10);
  EXPECT_DOUBLE_EQ(launches_over_lora(methods, methods[1]), 1.15);
  EXPECT_DOUBLE_EQ(products_over_lora(methods, methods[1]), 1.5);
  EXPECT_NE(products_over_lora(methods, methods[2]), products_over_lora(methods, methods[2]));  // without checkpointing
}

TEST(CountedMethods, AreSaidToBeCounted) {
  const test::ScratchFolder scratch;
  std::ofstream(scratch / "counts.csv") << kCounts;

  const std::string html = counted_html(read_counted_methods(scratch / "counts.csv"));

  EXPECT_TRUE(has(html, "Counted on a simulated GPU, not timed"));
  EXPECT_TRUE(has(html, "1.15"));
  EXPECT_EQ(counted_html({}), "");
}

TEST(CountedMethods, OtherTablesAreRefused) {
  const test::ScratchFolder scratch;
  std::ofstream(scratch / "other.csv") << "a,b\n1,2\n";

  EXPECT_THROW(read_counted_methods(scratch / "other.csv"), DataError);
}

}  // namespace
}  // namespace multicard::post
