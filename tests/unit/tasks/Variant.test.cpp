#include "tasks/options/Variant.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "config/Section.hpp"
#include "config/Smoke.hpp"
#include "config/SweepOptions.hpp"
#include "support/expect_error.hpp"
#include "support/test_world.hpp"
#include "tasks/options/RunOptions.hpp"

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

TEST(Sweep, RunsMostRanksFirstAndGoesThroughAllVariantsForthAndBack) {
  const auto variants = expand(sweep_of("sweep: {ranks: [1, 2], data.image_size: [32, 64, 96]}\nrepeat: 3\n"), 2);

  std::vector<std::string> in_time(variants.size());
  for (const Variant& variant : variants)
    in_time.at(static_cast<std::size_t>(variant.execution)) = std::to_string(variant.ranks) + ":" +
                                                              variant.overrides.at("data.image_size") + "#" +
                                                              std::to_string(variant.repeat);

  EXPECT_EQ(variants.front().ranks, 1);
  EXPECT_EQ(in_time, (std::vector<std::string>{"2:32#0", "2:64#0", "2:96#0", "1:32#0", "1:64#0", "1:96#0",  //
                                               "1:96#1", "1:64#1", "1:32#1", "2:96#1", "2:64#1", "2:32#1",  //
                                               "2:32#2", "2:64#2", "2:96#2", "1:32#2", "1:64#2", "1:96#2"}));
}

/// The ranks of each variant, in the order written.
std::vector<int> ranks_in(const std::vector<Variant>& variants) {
  std::vector<int> ranks;
  ranks.reserve(variants.size());
  for (const Variant& variant : variants)
    ranks.push_back(variant.ranks);
  return ranks;
}

TEST(Sweep, IsRefusedWhenItHasMoreRunsThanANumberCanSay) {
  std::string axes;
  for (int i = 0; i < 64; ++i)
    axes += "data.k" + std::to_string(i) + ": [1, 2], ";

  EXPECT_THROW(expand(sweep_of("sweep: {" + axes + "}"), 1), UsageError);
}

TEST(Sweep, IsRefusedWhenItsDecksWouldFillTheMemory) {
  const std::string base = "{run: {epochs: 3}, model: {freeze: [" + std::string(1 << 20, 'x') + "]}}";

  EXPECT_THROW(expand(sweep_of("sweep: {run.seed: [1, 2]}\nrepeat: 100\n", base), 1), UsageError);
}

TEST(Sweep, CountsUpToTheWorldWhenAllRanksAreAskedFor) {
  EXPECT_EQ(ranks_in(expand(sweep_of("sweep: {ranks: all}"), 3)), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(ranks_in(expand(sweep_of("sweep: {ranks: all}"), 1)), std::vector<int>{1});
}

TEST(Sweep, DropsRanksAboveTheWorldOnlyWhenAskedTo) {
  SweepOptions some = sweep_of("sweep: {ranks: [1, 2, 4, 8]}"), none = sweep_of("sweep: {ranks: [4, 8]}");

  EXPECT_EQ(drop_ranks_above(some, 2), (std::vector<int>{4, 8}));
  EXPECT_EQ(ranks_in(expand(some, 2)), (std::vector<int>{1, 2}));
  EXPECT_EQ(drop_ranks_above(none, 2), std::vector<int>{}) << "nothing would be left";
  EXPECT_THROW(expand(none, 2), EnvironmentError);
}

TEST(Sweep, JudgesTimeByRepeatsThenByRanksThenByAll) {
  const auto variants = expand(sweep_of("sweep: {ranks: [1, 2], data.image_size: [32, 64, 96]}\nrepeat: 2\n"), 2);
  const Variant &small_alone = variants[0], &small_alone_again = variants[1], &middle_alone = variants[2],
                &large_alone = variants[4], &small_together = variants[6];
  SweepPace pace;
  EXPECT_EQ(pace.expected(small_alone), 0);

  pace.add(small_alone, 1);
  EXPECT_EQ(pace.expected(small_together), 1) << "all that is known";
  pace.add(middle_alone, 5);
  EXPECT_EQ(pace.expected(small_alone_again), 1) << "the same variant";
  EXPECT_EQ(pace.expected(large_alone), 3) << "the mean on one rank";
  pace.add(small_together, 9);
  EXPECT_EQ(pace.expected(large_alone), 3);
  EXPECT_EQ(pace.expected(variants[8]), 9);
}

TEST(Sweep, TakesTheWholeWorldWithoutARanksAxis) {
  const auto variants = expand(sweep_of("sweep: {}"), 3);

  ASSERT_EQ(variants.size(), 1U);
  EXPECT_EQ(variants[0].ranks, 3);
}

TEST(Sweep, RefusesMoreRanksThanTheJobHas) {
  EXPECT_EQ(message_of<EnvironmentError>([] { expand(sweep_of("sweep: {ranks: [1, 4]}"), 2); }),
            "deck s.yaml, sweep.ranks: 4 ranks are requested (this job has 2) "
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
  EXPECT_EQ(read_run_options(variants[0].deck).data.layout, ImageLayout::nchw);
  EXPECT_EQ(variants[1].case_name, "plain");
  EXPECT_EQ(variants[1].overrides.at("data.layout"), "default");
  EXPECT_EQ(read_run_options(variants[1].deck).data.layout, ImageLayout::nhwc);
}

TEST(Sweep, FindsAnUnknownSweptKeyBeforeAnythingRuns) {
  EXPECT_THROW(expand(sweep_of("sweep: {data.image_sise: [32]}"), 1), UnknownKeyError);
  EXPECT_THROW(expand(sweep_of("sweep: {cases: [{name: a}, {name: b, oops: 1}]}"), 1), UnknownKeyError);
  EXPECT_THROW(expand(sweep_of("sweep: {data.image_size: [0], data.oops: [1]}"), 1), UnknownKeyError);
  EXPECT_THROW(expand(sweep_of("repeats: 3"), 1), UnknownKeyError);
}

TEST(Sweep, KeepsARefusedVariantWithItsReason) {
  const auto variants = expand(sweep_of("sweep: {run.cuda_graph: [true, false]}"), 1);

  ASSERT_EQ(variants.size(), 2U);
  EXPECT_EQ(variants[0].error,
            "deck s.yaml, run.cuda_graph: true is not available in this version (available: auto, false)");
  EXPECT_EQ(variants[1].error, "");
}

TEST(Sweep, ReplacesEpochsByItsLimitsAndMeasuresOnly) {
  const SweepOptions sweep = sweep_of("limits: {steps: 30, skip_steps: 4, timeout_s: 90}",
                                      "{run: {epochs: 3, checkpoint_every: 5, keep_best: true}}");

  const RunOptions options = read_run_options(expand(sweep, 1).at(0).deck);

  EXPECT_EQ(options.run.steps, 30);
  EXPECT_EQ(options.profile.skip_steps, 4);
  EXPECT_EQ(sweep.timeout_s, 90);
  EXPECT_EQ(options.run.keep_checkpoints, 0);
  EXPECT_FALSE(options.run.keep_best);
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
        "repeat: 0", "limits: {timeout_s: 0}", "limits: {steps: 5, skip_steps: 5}", "limits: {step: 5}",
        "limits: {steps: 5}\nrun: {steps: 6}"})
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

/// A sweep deck with a section `quick`, as load_sweep_deck leaves it.
class QuickSweep : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(folder_ / "base.yaml") << "run: {output: base, epochs: 3, global_batch: 64}\n";
    write(
        "quick: {sweep: {data.image_size: [32]}, limits: {steps: 4}, repeat: 1, run: {output: small},\n"
        "        model: {width: 0.5}}\n");
  }
  void write(const std::string& quick) {
    std::ofstream(folder_ / "s.yaml") << "base: base.yaml\nsweep: {data.image_size: [100, 200], ranks: all}\n"
                                         "run: {output: large}\nrepeat: 3\nlimits: {steps: 30, skip_steps: 2}\n"
                                      << quick;
  }
  std::vector<Variant> expanded(SweepScale scale, const std::vector<std::string>& overrides = {}) const {
    return expand(read_sweep_options(load_sweep_deck(folder_ / "s.yaml", overrides, scale)), 1);
  }
  std::string refusal(SweepScale scale) const {
    return message_of<UsageError>([&] { expanded(scale); });
  }

  test::ScratchFolder folder_;
};

TEST_F(QuickSweep, PutsItsSectionInPlaceOfTheRest) {
  const auto variants = expanded(SweepScale::quick);

  ASSERT_EQ(variants.size(), 1U);
  const RunOptions options = read_run_options(variants[0].deck);
  EXPECT_EQ(options.data.image_size, 32);
  EXPECT_EQ(options.run.steps, 4);
  EXPECT_EQ(options.profile.skip_steps, 2) << "what the section leaves out stays";
  EXPECT_EQ(options.run.output, "small");
  EXPECT_EQ(options.run.global_batch, 64);
  EXPECT_EQ(options.model.width, 0.5);
}

TEST_F(QuickSweep, IsIgnoredInAFullSweep) {
  const auto variants = expanded(SweepScale::full);

  ASSERT_EQ(variants.size(), 6U);
  const RunOptions options = read_run_options(variants[5].deck);
  EXPECT_EQ(options.data.image_size, 200);
  EXPECT_EQ(options.run.steps, 30);
  EXPECT_EQ(options.run.output, "large");
  EXPECT_EQ(options.model.width, 1);
}

TEST_F(QuickSweep, LeavesTheLastWordToTheCommandLine) {
  const auto variants = expanded(SweepScale::quick, {"sweep.data.image_size=[48, 64]", "limits.steps=7"});

  ASSERT_EQ(variants.size(), 2U);
  EXPECT_EQ(read_run_options(variants[0].deck).data.image_size, 48);
  EXPECT_EQ(read_run_options(variants[0].deck).run.steps, 7);
  EXPECT_EQ(read_run_options(variants[0].deck).run.output, "small");
}

TEST_F(QuickSweep, LeavesNoTraceOfTheSectionInTheDeck) {
  EXPECT_EQ(load_sweep_deck(folder_ / "s.yaml", {}, SweepScale::quick).get_text("quick"), "");
  EXPECT_EQ(load_sweep_deck(folder_ / "s.yaml").get_text("quick"), "");
}

TEST_F(QuickSweep, RefusesADeckWithoutTheSection) {
  write("");

  EXPECT_NE(refusal(SweepScale::quick).find("s.yaml, quick: is missing"), std::string::npos);
  EXPECT_EQ(expanded(SweepScale::full).size(), 6U);
}

TEST_F(QuickSweep, RefusesASectionThatIsNoMapAndUnknownKeysInIt) {
  write("quick: [1]\n");
  EXPECT_NE(refusal(SweepScale::quick).find("quick: expected keys"), std::string::npos);
  EXPECT_NE(refusal(SweepScale::full).find("quick: expected keys"), std::string::npos);
  write("quick: {limit: {steps: 4}}\n");
  EXPECT_THROW(expanded(SweepScale::quick), UnknownKeyError);
}

/// Every variant of every part of the study is a run, at all scales and on any number of ranks.
TEST(Study, ExpandsToRuns) {
  const std::filesystem::path folder = test::source_path("inputs/image/study");
  int num_decks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    for (const auto scale : {SweepScale::full, SweepScale::quick, SweepScale::smoke}) {
      ++num_decks;
      std::string output;
      for (const Variant& variant : expand(read_sweep_options(load_sweep_deck(entry.path(), {}, scale, 4)), 4)) {
        EXPECT_EQ(variant.error, "") << entry.path();
        output = read_run_options(variant.deck).run.output;
      }
      EXPECT_EQ(output, (scale == SweepScale::full ? "results/study/" : "results/study_quick/") +
                            entry.path().stem().string() + (scale == SweepScale::smoke ? "_smoke" : ""));
    }
  EXPECT_EQ(num_decks, 18);
}

/// Whatever else is among the decks that come with the program can be started (decks of plans: commands/Plan; of
/// shares, and tasks that arrive: share/ShareOptions; the grid of scripts/study_claim.sh: commands/ClaimScript).
TEST(Inputs, AreRunsOrSweeps) {
  int num_decks = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::source_path("inputs"))) {
    if (entry.path().extension() != ".yaml" || entry.path().parent_path().filename() == "plan") continue;
    const Deck deck = Deck::load(entry.path());
    const auto has = [&](const char* key) { return deck.root().find(key) != nullptr; };
    if (has("tasks") || has("deck") || has("claimed")) continue;
    ++num_decks;
    if (deck.root().find("base") == nullptr) {
      EXPECT_NO_THROW(read_run_options(load_run_deck(entry.path()))) << entry.path();
      EXPECT_NO_THROW(read_run_options(load_smoke_run_deck(entry.path(), {}, 4))) << entry.path();
    } else {
      EXPECT_NO_THROW(expand(read_sweep_options(load_sweep_deck(entry.path())), 4)) << entry.path();
      EXPECT_NO_THROW(expand(read_sweep_options(load_sweep_deck(entry.path(), {}, SweepScale::smoke, 4)), 4))
          << entry.path();
    }
  }
  EXPECT_GE(num_decks, 11);
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
