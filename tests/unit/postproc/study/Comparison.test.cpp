// What changed between two results whose differences are known.

#include "postproc/study/Comparison.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "postproc/figures/ComparedFigures.hpp"
#include "postproc/page/ComparisonReport.hpp"
#include "runs_in_memory.hpp"
#include "support/expect_error.hpp"

namespace multicard::post {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A run whose phases take these milliseconds, each known to `relative`.
RunReport run_with(const std::array<double, kNumPhases>& phases_ms, double relative = 0.02,
                   std::map<std::string, std::string> settings = {}) {
  double step_ms = 0;
  for (const double ms : phases_ms)
    step_ms += ms;
  const auto known = [&](double ms) {
    const double value = ms / 1000;
    return Estimate{value, Interval{value * (1 - relative), value * (1 + relative)}, Basis::steps, 30};
  };
  RunReport run = run_of(std::move(settings), 2, 1000 * 64 / step_ms);
  run.step_time = run.step_mean = known(step_ms);
  run.rate.interval = Interval{run.rate.value / (1 + relative), run.rate.value / (1 - relative)};
  for (std::size_t p = 0; p < kNumPhases; ++p)
    run.phase_means[p] = known(phases_ms[p]);
  run.deck = "parallel:\n  bucket_mb: 25\nrun:\n  output: out\n";
  return run;
}

// data_wait, transfer, forward, backward, reduce_wait, update, other
constexpr std::array<double, kNumPhases> kPlain{1, 0.5, 20, 40, 10, 5, 1};
constexpr std::array<double, kNumPhases> kSlowForward{1, 0.5, 36, 40, 14, 5, 1};

Collection of(std::vector<RunReport> runs) {
  return collection_of(study_of(std::move(runs)));
}

Finding finding_in(const Comparison& comparison, const std::string& id) {
  return finding_of(comparison.findings, id);
}

TEST(Comparison, NamesTheSlowedPhasesWithTheirSharesOfTheDifference) {
  const Collection a = of({run_with(kPlain)}), b = of({run_with(kSlowForward)});

  const Comparison comparison = compare(a, b);

  // 77.5 ms became 97.5 ms; of the 20 ms forward has 16 and reduce_wait 4.
  EXPECT_EQ(comparison.findings.front().id, "headline");
  EXPECT_TRUE(has(comparison.findings.front().text, "B takes 1.26 times as long as A (95 % interval 1.2"))
      << comparison.findings.front().text;
  const Finding phases = finding_in(comparison, "phases");
  EXPECT_TRUE(has(phases.text,
                  "The mean step is 20 ms longer (77.5 → 97.5 ms; 95 % interval +17.5 ms to +22.5 ms): "
                  "forward +16 ms (80.0 % of the difference), exposed communication +4 ms (20.0 % of"))
      << phases.text;
  const std::vector<ComparedPhase>& all = comparison.cells.front().phases;
  EXPECT_EQ(all[0].name, "forward");
  EXPECT_EQ(all[1].name, "reduce_wait");
  double shares = 0;
  for (const ComparedPhase& phase : all)
    shares += phase.share;
  EXPECT_NEAR(shares, 1, 1e-12);
  EXPECT_FALSE(all[2].is_measurable());
}

TEST(Comparison, TheIntervalOfTheRatioAddsBothOnTheLogarithmicScale) {
  const Collection a = of({run_with(kPlain, 0.02)}), b = of({run_with(kSlowForward, 0.04)});

  const Estimate ratio = compare(a, b).cells.front().rate_ratio;

  const double value = 77.5 / 97.5;
  EXPECT_NEAR(ratio.value, value, 1e-12);
  EXPECT_NEAR(ratio.interval->low, value * std::exp(-std::hypot(std::log(1.04), std::log(1 / 0.98))), 1e-12);
  EXPECT_NEAR(ratio.interval->high, value * std::exp(std::hypot(std::log(1 / 0.96), std::log(1.02))), 1e-12);
}

TEST(Comparison, EqualResultsHaveNoMeasurableDifference) {
  const Collection a = of({run_with(kPlain)}), b = of({run_with(kPlain)});

  const Comparison comparison = compare(a, b);

  EXPECT_EQ(comparison.findings.front().text, "No measurable difference in speed between A and B (0.97–1.03)");
  EXPECT_TRUE(has(finding_in(comparison, "phases").text, "No measurable difference of the mean step"));
  EXPECT_TRUE(has(finding_in(comparison, "same_runs").text, "A and B hold the same runs"));
  EXPECT_TRUE(comparison.settings.empty());
}

TEST(Comparison, WithoutIntervalsNothingIsClaimed) {
  RunReport one = run_with(kPlain), other = run_with(kSlowForward);
  for (RunReport* run : {&one, &other}) {
    run->rate.interval.reset();
    run->step_mean.interval.reset();
  }

  const Collection a = of({one}), b = of({other});
  const Comparison comparison = compare(a, b);

  EXPECT_EQ(comparison.findings.front().text, "Too few values to compare the speed of A and B");
  EXPECT_FALSE(comparison.findings.front().evidence.all().contains("ratio"));
  EXPECT_TRUE(has(finding_in(comparison, "phases").text, "no phase is named"));
}

TEST(Comparison, PhasesThatCancelAreNamedAlthoughTheStepIsTheSame) {
  const Collection a = of({run_with({1, 0.5, 20, 40, 10, 5, 1})}), b = of({run_with({1, 0.5, 32, 30, 10, 5, 1})});

  const Finding phases = finding_in(compare(a, b), "phases");

  EXPECT_TRUE(has(phases.text, "Yet these phases changed: forward +12 ms, backward −10 ms.")) << phases.text;
}

TEST(Comparison, RepeatsHaveTheIntervalOfTheirMeans) {
  const auto repeats = [](double factor) {
    std::vector<RunReport> runs;
    for (const double by : {0.99, 1.0, 1.01}) {
      std::array<double, kNumPhases> phases = kPlain;
      for (double& ms : phases)
        ms *= factor * by;
      runs.push_back(run_with(phases));
      runs.back().repeat = static_cast<std::int64_t>(runs.size());
    }
    return of(runs);
  };

  const Collection a = repeats(1), b = repeats(0.5);
  const ComparedCell cell = compare(a, b).cells.front();

  // Student's t with two degrees of freedom is 4.3027; the deviation is a hundredth of the mean.
  const double half_a = 4.302652729749 * 0.01 * 77.5e-3 / std::sqrt(3.0);
  EXPECT_NEAR(cell.mean_step.a.interval->high - cell.mean_step.a.value, half_a, 1e-9);
  EXPECT_NEAR(cell.mean_step.difference.value, -77.5e-3 / 2, 1e-12);
  EXPECT_NEAR(cell.mean_step.difference.interval->high - cell.mean_step.difference.value,
              std::hypot(half_a, half_a / 2), 1e-9);
  EXPECT_EQ(cell.rate_ratio.basis, Basis::repeats);
}

TEST(Comparison, ConfigurationsAreMatchedByWhatOneOfBothVaries) {
  const Collection a = of(
                       {run_with(kPlain, 0.02, {{"strategy", "dp"}}), run_with(kPlain, 0.02, {{"strategy", "ddp"}})}),
                   b = of({run_with(kSlowForward, 0.02, {{"strategy", "ddp"}})});

  const Comparison comparison = compare(a, b);

  ASSERT_EQ(comparison.cells.size(), 1U);
  EXPECT_EQ(comparison.cells.front().cell_a, &a.studies.front().cells[1]);
  EXPECT_EQ(comparison.only_a, (std::vector<std::string>{"dp on 2 ranks"}));
  EXPECT_TRUE(has(finding_in(comparison, "not_compared").text, "1 only in A"));
}

TEST(Comparison, OverSeveralConfigurationsTheMeanIsGeometric) {
  const std::array<double, kNumPhases> twice{2, 1, 40, 80, 20, 10, 2};
  const Collection a = of({run_with(twice, 0.02, {{"strategy", "dp"}}), run_with(kPlain, 0.02, {{"strategy", "ddp"}})}),
                   b = of(
                       {run_with(kPlain, 0.02, {{"strategy", "dp"}}), run_with(kPlain, 0.02, {{"strategy", "ddp"}})});

  const Comparison comparison = compare(a, b);

  EXPECT_TRUE(has(comparison.findings.front().text,
                  "B is 1.41 times as fast as A (95 % interval 1.39–1.44), mean over "
                  "2 configurations"))
      << comparison.findings.front().text;
  EXPECT_TRUE(
      has(finding_in(comparison, "spread").text,
          "1 became measurably faster and 0 slower: from 1.00 times A’s rate (ddp on 2 ranks) to 2.00 times (dp on"))
      << finding_in(comparison, "spread").text;
  EXPECT_EQ(most_changed(comparison)->label, "dp on 2 ranks");
}

TEST(Comparison, FiguresShowTheRatiosAndTheStepThatChangedMost) {
  const std::array<double, kNumPhases> twice{2, 1, 40, 80, 20, 10, 2};
  const Collection a = of({run_with(twice, 0.02, {{"strategy", "dp"}}), run_with(kPlain, 0.02, {{"strategy", "ddp"}})}),
                   b = of(
                       {run_with(kPlain, 0.02, {{"strategy", "dp"}}), run_with(kPlain, 0.02, {{"strategy", "ddp"}})});

  const std::vector<Figure> figures = figures_of(compare(a, b));

  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].id, "compared-rates");
  EXPECT_EQ(figures[0].title, "1 of 2 configurations differ measurably");
  ASSERT_EQ(figures[0].data.rows.size(), 2U);
  EXPECT_EQ(std::get<std::string>(figures[0].data.rows[0][0]), "dp on 2 ranks");
  EXPECT_NEAR(std::get<double>(figures[0].data.rows[0][2]), 2, 1e-9);
  EXPECT_EQ(figures[1].id, "compared-steps");
  EXPECT_EQ(figures[1].title, "A step takes 155 ms in A and 77.5 ms in B");
  EXPECT_EQ(figures[1].data.rows.size(), 2 * kNumPhases);
}

TEST(Comparison, OfOneConfigurationTheStepIsTheAnswersFigure) {
  const Collection a = of({run_with(kPlain)}), b = of({run_with(kSlowForward)});

  const std::vector<Figure> figures = figures_of(compare(a, b));

  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].id, "compared-steps");
}

TEST(Comparison, ListsSettingsThatDifferByTheirEffect) {
  RunReport before = run_with(kPlain, 0.02, {{"image_size", "32"}}), after = before;
  before.deck = "data:\n  image_size: 32\nparallel:\n  bucket_mb: 25\nrun:\n  output: one\n  seed: 1\n";
  after.deck = "data:\n  image_size: 64\nparallel:\n  bucket_mb: 25.0\nrun:\n  output: two\n  seed: 1\n";

  const Collection a = of({before}), b = of({after});
  const Comparison comparison = compare(a, b);

  ASSERT_EQ(comparison.settings.size(), 2U);  // 25 and 25.0 are one value
  EXPECT_EQ(comparison.settings[0].key, "data.image_size");
  EXPECT_EQ(comparison.settings[0].effect, "work");
  EXPECT_EQ(comparison.settings[1].key, "run.output");
  EXPECT_EQ(comparison.settings[1].effect, "bookkeeping");
  EXPECT_TRUE(has(finding_in(comparison, "work").text,
                  "different work, so that the ratio says what the difference "
                  "costs, not which is better: data.image_size 32 → 64."));
}

TEST(Comparison, ListsVersionsAndVariablesButNotThoseOfAJob) {
  Collection a = of({run_with(kPlain)}), b = of({run_with(kPlain)});
  a.sources[0].provenance = {{"torch", "2.14.0"}, {"mpi", "Open MPI v4.1.4"}};
  b.sources[0].provenance = {{"torch", "2.15.0"}, {"mpi", "Open MPI v4.1.4"}};
  a.sources[0].environment = {{"SLURM_JOB_ID", "1"}, {"OMPI_MCA_ess_base_jobid", "7"}, {"NCCL_ALGO", "Ring"}};
  b.sources[0].environment = {{"SLURM_JOB_ID", "2"}, {"OMPI_MCA_ess_base_jobid", "8"}, {"OMP_NUM_THREADS", "1"}};

  const std::vector<ComparedSetting> differing = compare(a, b).environment;

  ASSERT_EQ(differing.size(), 3U);
  EXPECT_EQ(differing[0].key, "NCCL_ALGO");
  EXPECT_EQ(differing[0].b, "");
  EXPECT_EQ(differing[1].key, "OMP_NUM_THREADS");
  EXPECT_EQ(differing[2].key, "torch");
  EXPECT_EQ(differing[2].b, "2.15.0");
}

/// Operators of ten steps on one rank.
ProfileSum profile_with(std::int64_t convolution_ns) {
  ProfileSum sum;
  sum.rank_steps = 10;
  sum.total.operators = {
      {"aten::add", {.count = 100, .total = 50'000'000}, {.self_ns = 50'000'000}, "forward"},
      {"aten::convolution", {.count = 20, .total = convolution_ns}, {.self_ns = convolution_ns}, "backward"}};
  sum.total.mpi = {{"MPI_Allreduce", 10, 1000, 30'000'000}};
  return sum;
}

TEST(Comparison, NamesTheOperatorWhoseTimePerStepChangedMost) {
  RunReport before = run_with(kPlain), after = run_with(kSlowForward);
  before.profile = profile_with(100'000'000);
  after.profile = profile_with(260'000'000);
  after.profile.rank_steps = 20;  // of which each has half as much

  const Collection a = of({before}), b = of({after});
  const Comparison comparison = compare(a, b);

  const ComparedItems& operators = comparison.cells.front().items.front();
  EXPECT_EQ(operators.id, "operators");
  EXPECT_EQ(operators.items[0].name, "aten::convolution in backward");
  EXPECT_DOUBLE_EQ(operators.items[0].seconds_a, 0.010);
  EXPECT_DOUBLE_EQ(operators.items[0].seconds_b, 0.013);
  EXPECT_DOUBLE_EQ(operators.items[0].count_b, 1);
  EXPECT_DOUBLE_EQ(operators.items[1].difference(), -0.0025);
  EXPECT_TRUE(has(finding_in(comparison, "items").text, "aten::convolution in backward +3 ms (10 → 13 ms, operators)"))
      << finding_in(comparison, "items").text;
}

TEST(Comparison, NamesNoOperatorWhereTheStepHasNoInterval) {
  RunReport before = run_with(kPlain), after = run_with(kSlowForward);
  before.profile = profile_with(100'000'000);
  after.profile = profile_with(260'000'000);
  const Collection a = of({before}), b = of({after}), noisy = [&] {
    after.step_mean.interval.reset();
    return of({after});
  }();

  EXPECT_FALSE(finding_in(compare(a, b), "items").empty());
  EXPECT_TRUE(has(finding_in(compare(b, a), "items").text, "aten::convolution in backward −16 ms"));
  EXPECT_TRUE(finding_in(compare(a, noisy), "items").empty());
}

TEST(Comparison, AnotherDeviceDoesTheSameWork) {
  const Collection a = of({run_with(kPlain, 0.02, {{"device", "cpu"}, {"num_parameters", "7"}})}),
                   b = of({run_with(kPlain, 0.02, {{"device", "cuda"}, {"num_parameters", "8"}})});

  const std::vector<ComparedSetting> settings = compare(a, b).settings;

  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].key + ": " + settings[0].effect, "num_parameters: work");
  EXPECT_EQ(settings[1].key + ": " + settings[1].effect, "device: speed");
}

TEST(Comparison, RatesOfDifferentUnitsAreNotAveraged) {
  const std::vector<RunReport> images{run_with(kPlain, 0.02, {{"strategy", "dp"}}),
                                      run_with(kPlain, 0.02, {{"strategy", "ddp"}})};
  Collection a = of(images), b = of(images);
  b.studies.front().unit = "tokens";

  const Comparison comparison = compare(a, b);

  EXPECT_EQ(comparison.findings.front().text, "A and B count different things: their rates cannot be compared");
  EXPECT_EQ(unit_of(comparison), "");
}

Collection evaluated_on(const char* data) {
  Collection collection = of({run_with(kPlain)});
  collection.studies.clear();
  RunReport run;
  run.settings = {{"model", "resnet"}};
  run.deck = std::string("data:\n  test: ") + data + "\n";
  run.evaluation = EvaluationReport{};
  run.evaluation->loss = 0.5;
  collection.evaluated = {run};
  return collection;
}

TEST(Comparison, EvaluationsOnDifferentDataAreSaidToBe) {
  const Collection a = evaluated_on("one.h5"), b = evaluated_on("two.h5");

  const Comparison comparison = compare(a, b);

  EXPECT_EQ(finding_in(comparison, "evaluated_data").text,
            "A and B were evaluated on different data, so that their scores do not compare: data.test one.h5 → "
            "two.h5.");
  EXPECT_EQ(comparison.settings.front().key, "data.test");
  EXPECT_TRUE(finding_in(compare(a, a), "evaluated_data").empty());
}

TEST(Comparison, RefusesWhatCannotBeCompared) {
  RunReport image = run_with(kPlain, 0.02, {{"task", "image"}}), text = run_with(kPlain, 0.02, {{"task", "llm"}});
  RunReport failed = run_with(kPlain, 0.02, {{"task", "image"}});
  failed.status = "failed";

  const Collection images = of({image}), texts = of({text}), failures = of({failed});
  EXPECT_TRUE(has(test::message_of<DataError>([&] { compare(images, texts); }), "no configuration in common"));
  EXPECT_TRUE(has(test::message_of<DataError>([&] { compare(images, failures); }), "none has measured steps in both"));
}

}  // namespace
}  // namespace multicard::post
