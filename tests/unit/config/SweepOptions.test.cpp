#include "config/SweepOptions.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "config/RunOptions.hpp"
#include "config/Section.hpp"
#include "config/Variant.hpp"
#include "expect_error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::message_of;

/// A sweep whose base stands inside it, as load_sweep_deck leaves it.
SweepOptions sweep_of(const std::string& text, const std::string& base = "{run: {epochs: 3}}") {
  return read_sweep_options(Deck::parse("base: " + base + "\n" + text, "s.yaml"));
}

TEST(Sweep, CountsTheLastAxisAndTheRepeatsFastest) {
  const auto variants =
      expand(sweep_of("sweep: {data.image_size: [32, 64], data.layout: [nhwc, nchw]}\nrepeat: 2\n"), 1);

  ASSERT_EQ(variants.size(), 8U);
  EXPECT_EQ(variants[0].name, "0000");
  EXPECT_EQ(variants[7].name, "0007");
  const auto row = [&](std::size_t i) {
    const Variant& variant = variants[i];
    return variant.overrides.at("data.image_size") + variant.overrides.at("data.layout") +
           std::to_string(variant.repeat);
  };
  EXPECT_EQ(row(0), "32nhwc0");
  EXPECT_EQ(row(1), "32nhwc1");
  EXPECT_EQ(row(2), "32nchw0");
  EXPECT_EQ(row(4), "64nhwc0");
  EXPECT_EQ(read_run_options(variants[4].deck).data.image_size, 64);
}

TEST(Sweep, RunsMostRanksFirstAndRepeatsApart) {
  const auto variants = expand(sweep_of("sweep: {ranks: [1, 2, 4], data.image_size: [32, 64]}\nrepeat: 2\n"), 4);

  std::vector<const Variant*> in_time(variants.size());
  for (const Variant& variant : variants)
    in_time.at(static_cast<std::size_t>(variant.execution)) = &variant;

  EXPECT_EQ(variants.front().ranks, 1);
  EXPECT_EQ(in_time.front()->ranks, 4);
  EXPECT_EQ(in_time.front()->overrides.at("data.image_size"), "32");
  EXPECT_EQ(in_time[1]->overrides.at("data.image_size"), "64");
  EXPECT_EQ(in_time[1]->repeat, 0);
  EXPECT_EQ(in_time[2]->repeat, 1);
  EXPECT_EQ(in_time.back()->ranks, 1);
}

TEST(Sweep, TakesTheWholeWorldWithoutARanksAxis) {
  const auto variants = expand(sweep_of("sweep: {}"), 3);

  ASSERT_EQ(variants.size(), 1U);
  EXPECT_EQ(variants[0].ranks, 3);
}

TEST(Sweep, RefusesMoreRanksThanTheJobHas) {
  EXPECT_EQ(message_of<EnvironmentError>([] { expand(sweep_of("sweep: {ranks: [1, 4]}"), 2); }),
            "deck s.yaml, sweep.ranks: 4 ranks are asked for (this job has 2) "
            "Start it with -n 4, or leave the value out with sweep.ranks=[...].");
  EXPECT_THROW(expand(sweep_of("sweep: {ranks: [0]}"), 2), UsageError);
  EXPECT_THROW(expand(sweep_of("sweep: {ranks: [two]}"), 2), UsageError);
}

TEST(Sweep, AppliesNamedCases) {
  const auto variants =
      expand(sweep_of("sweep: {cases: [{name: tuned, data.pin_memory: false, data.layout: nchw}, {name: plain}]}"), 1);

  ASSERT_EQ(variants.size(), 2U);
  EXPECT_EQ(variants[0].case_name, "tuned");
  EXPECT_EQ(variants[0].overrides.at("data.layout"), "nchw");
  EXPECT_EQ(read_run_options(variants[0].deck).data.layout, "nchw");
  EXPECT_EQ(variants[1].case_name, "plain");
  EXPECT_EQ(variants[1].overrides.at("data.layout"), "default");
  EXPECT_EQ(read_run_options(variants[1].deck).data.layout, "nhwc");
}

TEST(Sweep, FindsAnUnknownSweptKeyBeforeAnythingRuns) {
  EXPECT_THROW(expand(sweep_of("sweep: {data.image_sise: [32]}"), 1), UnknownKeyError);
  EXPECT_THROW(expand(sweep_of("sweep: {cases: [{name: a}, {name: b, oops: 1}]}"), 1), UnknownKeyError);
  EXPECT_THROW(expand(sweep_of("sweep: {data.image_size: [0], data.oops: [1]}"), 1), UnknownKeyError);
  EXPECT_THROW(expand(sweep_of("repeats: 3"), 1), UnknownKeyError);
}

TEST(Sweep, KeepsARefusedVariantWithItsReason) {
  const auto variants = expand(sweep_of("sweep: {parallel.shard: [full, none]}"), 1);

  ASSERT_EQ(variants.size(), 2U);
  EXPECT_EQ(variants[0].error, "deck s.yaml, parallel.shard: full is not available in this version (available: none)");
  EXPECT_EQ(variants[1].error, "");
}

TEST(Sweep, ReplacesEpochsByItsLimitsAndMeasuresOnly) {
  const SweepOptions sweep = sweep_of("limits: {steps: 30, skip_steps: 4}", "{run: {epochs: 3, checkpoint_every: 5}}");

  const RunOptions options = read_run_options(expand(sweep, 1).at(0).deck);

  EXPECT_EQ(options.run.steps, 30);
  EXPECT_EQ(options.skip_steps, 4);
  EXPECT_EQ(options.run.keep_checkpoints, 0);
  EXPECT_EQ(options.evaluate.every_epochs, 0);
}

TEST(Sweep, KeepsCheckpointsAndEvaluationThatItAsksFor) {
  const RunOptions own =
      read_run_options(expand(sweep_of("run: {checkpoint_every: 5}\nevaluate: {every_steps: 2}"), 1).at(0).deck);
  const RunOptions axis = read_run_options(expand(sweep_of("sweep: {evaluate.every_epochs: [2]}"), 1).at(0).deck);

  EXPECT_EQ(own.run.keep_checkpoints, 2);
  EXPECT_EQ(own.evaluate.every_steps, 2);
  EXPECT_EQ(axis.evaluate.every_epochs, 2);
  EXPECT_EQ(axis.run.keep_checkpoints, 0);
}

TEST(Sweep, LetsAnAxisReplaceTheBatchOfTheBase) {
  const auto variants = expand(sweep_of("sweep: {run.batch_per_rank: [8]}", "{run: {global_batch: 64}}"), 1);

  EXPECT_EQ(variants[0].error, "");
  EXPECT_EQ(read_run_options(variants[0].deck).run.batch_per_rank, 8);
}

TEST(Sweep, RefusesMalformedSweeps) {
  for (const char* bad :
       {"sweep: [1]", "sweep: {ranks: 2}", "sweep: {data.image_size: []}", "sweep: {cases: [{data.layout: nhwc}]}",
        "sweep: {cases: [{name: a}, {name: a}]}", "sweep: {data.layout: [nhwc], cases: [{name: a, data.layout: nchw}]}",
        "repeat: 0", "limits: {steps: 5, skip_steps: 5}", "limits: {step: 5}", "limits: {steps: 5}\nrun: {steps: 6}"})
    EXPECT_THROW(sweep_of(bad), UsageError) << bad;
  EXPECT_THROW(read_sweep_options(Deck::parse("sweep: {}", "s.yaml")), UsageError);
}

TEST(Sweep, PutsTheBaseDeckInItsPlaceSoThatTheTextIsWhole) {
  const test::ScratchFolder folder;
  std::filesystem::create_directory(folder.path() / "sweeps");
  std::ofstream(folder / "base.yaml") << "run: {output: base, seed: 5}\n";
  std::ofstream(folder / "sweeps/s.yaml") << "base: ../base.yaml\nsweep: {ranks: [1]}\nrun: {output: own}\n";

  const Deck loaded = load_sweep_deck(folder / "sweeps/s.yaml", {"data.image_size=48"});
  const Deck sent = Deck::parse(loaded.to_yaml(), "elsewhere.yaml");
  const RunOptions options = read_run_options(expand(read_sweep_options(sent), 1).at(0).deck);

  EXPECT_EQ(options.run.output, "own");
  EXPECT_EQ(options.run.seed, 5);
  EXPECT_EQ(options.data.image_size, 48);
}

TEST(Sweep, LetsOverridesReplaceAddAndRemoveAxes) {
  Deck deck = Deck::parse("base: {}\nsweep: {data.image_size: [32, 64], ranks: [1, 2]}\n", "s.yaml");

  deck.apply(parse_overrides({"sweep.data.image_size=[48]", "sweep.data.layout=[nhwc, nchw]", "sweep.ranks=null"}));
  const SweepOptions sweep = read_sweep_options(deck);

  ASSERT_EQ(sweep.axes.size(), 2U);
  EXPECT_EQ(sweep.axes[0].key, "data.image_size");
  EXPECT_EQ(sweep.axes[0].values.size(), 1U);
  EXPECT_EQ(sweep.axes[1].key, "data.layout");
}

TEST(Sweep, NamesABaseDeckThatIsMissing) {
  const test::ScratchFolder folder;
  std::ofstream(folder / "s.yaml") << "base: nowhere.yaml\n";

  EXPECT_NE(message_of<UsageError>([&] { load_sweep_deck(folder / "s.yaml"); }).find("nowhere.yaml cannot be read"),
            std::string::npos);
}

}  // namespace
}  // namespace multicard
