#include "config/Smoke.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "config/SweepOptions.hpp"
#include "support/expect_error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::message_of;

Deck short_run(const std::string& text, int num_ranks = 2) {
  Deck deck = Deck::parse(text, "d.yaml");
  shorten_run(deck, num_ranks);
  return deck;
}

class SmokeDeck : public ::testing::Test {
 protected:
  void write(const std::string& text, const char* name = "d.yaml") const { std::ofstream(folder_ / name) << text; }
  Deck run(const std::vector<std::string>& overrides = {}) const {
    return load_smoke_run_deck(folder_ / "d.yaml", overrides, 2);
  }
  Deck sweep(const std::vector<std::string>& overrides = {}, int num_ranks = 4) const {
    return load_sweep_deck(folder_ / "s.yaml", overrides, SweepScale::smoke, num_ranks);
  }

  test::ScratchFolder folder_;
};

TEST(ShortRun, HasFewStepsInsteadOfEpochs) {
  const Deck deck = short_run("run: {epochs: 20, global_batch: 64}\nschedule: {warmup_steps: 100}\n");

  EXPECT_EQ(deck.get_text("run"), "{global_batch: 16, steps: 4, log_every: 1}");
  EXPECT_EQ(deck.get_text("profile.skip_steps"), "1");
  EXPECT_EQ(deck.get_text("schedule.warmup_steps"), "1");
}

TEST(ShortRun, KeepsWhatIsShorter) {
  const Deck deck = short_run("run: {steps: 1, global_batch: 3}\nevaluate: {limit: 5}\nschedule: {warmup_steps: 0}\n");

  EXPECT_EQ(deck.get_text("run"), "{steps: 1, global_batch: 3, log_every: 1}");
  EXPECT_EQ(deck.get_text("profile.skip_steps"), "0") << "a step is measured";
  EXPECT_EQ(deck.get_text("evaluate.limit"), "5");
  EXPECT_EQ(deck.get_text("schedule.warmup_steps"), "0");
}

TEST(ShortRun, KeepsTheUnitOfTheBatch) {
  EXPECT_EQ(short_run("run: {batch_per_rank: 64}").get_text("run.batch_per_rank"), "8");
  EXPECT_EQ(short_run("run: {batch_per_rank: 64}").get_text("run.global_batch"), "");
  EXPECT_EQ(short_run("run: {seed: 1}", 3).get_text("run.global_batch"), "24");
}

TEST(ShortRun, EvaluatesAtTheEndWhereThereIsTestData) {
  const std::string never = "evaluate: {every_epochs: 0}\n";

  EXPECT_EQ(short_run("data: {train: a.h5, test: b.h5}\n" + never).get_text("evaluate"),
            "{every_epochs: 1, limit: 32}");
  EXPECT_EQ(short_run(never).get_text("evaluate.every_epochs"), "1") << "of the shards that are the default";
  EXPECT_EQ(short_run("data: {train: a.h5}\n" + never).get_text("evaluate"), "{every_epochs: 0}");
  EXPECT_EQ(short_run("data: {test: null}\n" + never).get_text("evaluate"), "{every_epochs: 0}");
  EXPECT_EQ(short_run("evaluate: {every_epochs: 0, every_steps: 50}").get_text("evaluate.every_epochs"), "0");
}

TEST(ShortRun, AsksFewQuestions) {
  const Deck deck = short_run(
      "data: {train: a.h5}\nevaluate: {questions: {file: q.jsonl, limit: 20}, prompts: [a, b, c], max_new: 8}\n");

  EXPECT_EQ(deck.get_text("evaluate.questions"), "{file: q.jsonl, limit: 2, max_new: 32}");
  EXPECT_EQ(deck.get_text("evaluate.prompts"), "[a, b]");
  EXPECT_EQ(deck.get_text("evaluate.max_new"), "8");
}

TEST_F(SmokeDeck, AppliesItsSectionFirstAndTheOverridesLast) {
  write("run: {output: out, epochs: 3, seed: 1}\nsmoke: {run: {steps: 2, seed: 5}, model: {width: 0.5}}\n");

  const Deck deck = run({"run.seed=7"});

  EXPECT_EQ(deck.get_text("run.steps"), "2");
  EXPECT_EQ(deck.get_text("run.seed"), "7");
  EXPECT_EQ(deck.get_text("model.width"), "0.5");
  EXPECT_EQ(deck.get_text("run.output"), "out_smoke");
  EXPECT_EQ(deck.get_text("run.resume"), "never");
  EXPECT_EQ(deck.get_text("smoke"), "");
  EXPECT_EQ(run({"run.epochs=1"}).get_text("run.steps"), "");
  EXPECT_EQ(run({"run.steps=9", "evaluate.limit=50"}).get_text("evaluate.limit"), "50");
}

TEST_F(SmokeDeck, ReplacesNoResultsWhoseFolderIsNamed) {
  write("run: {output: out}\n");

  EXPECT_EQ(run({"run.output=mine"}).get_text("run.output"), "mine");
  EXPECT_EQ(run({"run.output=mine"}).get_text("run.resume"), "");
  EXPECT_EQ(run({"run.resume=auto"}).get_text("run.resume"), "auto");
  write("run: {output: out/}\n");
  EXPECT_EQ(run().get_text("run.output"), "out_smoke");
  write("{}\n");
  EXPECT_EQ(run().get_text("run.output"), "results/fashion_smoke");
}

TEST_F(SmokeDeck, IsWithoutItsSectionInOtherRuns) {
  write("run: {steps: 9}\nsmoke: {run: {steps: 2}}\n");

  EXPECT_EQ(load_run_deck(folder_ / "d.yaml", {"run.seed=2"}).to_yaml(), "run:\n  steps: 9\n  seed: 2\n");
}

TEST_F(SmokeDeck, RefusesASectionThatIsNoMap) {
  write("smoke: [1]\n");

  EXPECT_NE(message_of<UsageError>([&] { run(); }).find("smoke: expected keys"), std::string::npos);
  EXPECT_NE(message_of<UsageError>([&] { load_run_deck(folder_ / "d.yaml"); }).find("smoke: expected keys"),
            std::string::npos);
}

TEST_F(SmokeDeck, OfASweepHasTwoValuesOfEveryAxis) {
  write("run: {output: out, epochs: 3}\nsmoke: {model: {width: 0.5}}\nevaluate: {limit: 100}\n");
  write(
      "base: d.yaml\nsweep: {ranks: [8, 4, 2, 1], data.image_size: [32, 64, 96],\n"
      "  cases: [{name: a, run.steps: 5}, {name: b}, {name: c}], run.steps: [10, 20]}\nrepeat: 3\n"
      "run: {steps: 50}\n",
      "s.yaml");

  const Deck deck = sweep();

  EXPECT_EQ(deck.get_text("sweep.ranks"), "[2, 1]");
  EXPECT_EQ(deck.get_text("sweep.data.image_size"), "[32, 64]");
  EXPECT_EQ(deck.get_text("sweep.cases"), "[{name: a}, {name: b}]");
  EXPECT_EQ(deck.get_text("sweep.run.steps"), "");
  EXPECT_EQ(deck.get_text("repeat"), "2");
  EXPECT_EQ(deck.get_text("limits"), "{steps: 4, skip_steps: 1}");
  EXPECT_EQ(deck.get_text("run"), "{output: out_smoke, resume: never}");
  EXPECT_EQ(deck.get_text("base.smoke"), "");
  EXPECT_EQ(deck.get_text("base.model"), "") << "the section of the base counts in its own runs";
  EXPECT_NO_THROW(read_sweep_options(deck));
}

TEST_F(SmokeDeck, OfASweepCountsAllRanksUpToTwo) {
  write("{}\n");
  for (const char* all : {"all", "[all]"}) {
    write(std::string("base: d.yaml\nsweep: {ranks: ") + all + "}\n", "s.yaml");
    EXPECT_EQ(sweep().get_text("sweep.ranks"), "[1, 2]");
    EXPECT_EQ(sweep({}, 1).get_text("sweep.ranks"), "[1]");
    EXPECT_EQ(sweep({"sweep.ranks=all"}).get_text("sweep.ranks"), "all");
  }
  write("base: d.yaml\nsweep: {ranks: [8, 16]}\n", "s.yaml");
  EXPECT_EQ(sweep().get_text("sweep.ranks"), "[8, 16]") << "which the job does not have";
}

TEST_F(SmokeDeck, OfASweepAppliesBothSectionsAndTheOverridesLast) {
  write("evaluate: {limit: 100}\n");
  write(
      "base: d.yaml\nsweep: {data.image_size: [32, 64, 96]}\nlimits: {steps: 30, skip_steps: 9}\nrun: {output: out}\n"
      "evaluate: {at_start: true}\nquick: {sweep: {data.image_size: [48, 16, 24]}, limits: {steps: 10}, repeat: 9}\n"
      "smoke: {repeat: 1, model: {width: 0.25}}\n",
      "s.yaml");

  const Deck deck = sweep(), changed = sweep({"limits.steps=7", "sweep.data.image_size=[1, 2, 3]", "run.output=o"});

  EXPECT_EQ(deck.get_text("sweep.data.image_size"), "[48, 16]");
  EXPECT_EQ(deck.get_text("repeat"), "1");
  EXPECT_EQ(deck.get_text("model.width"), "0.25");
  EXPECT_EQ(deck.get_text("evaluate"), "{at_start: true, limit: 32}");
  EXPECT_EQ(deck.get_text("base.evaluate.limit"), "32");
  EXPECT_EQ(deck.get_text("quick") + deck.get_text("smoke"), "");
  EXPECT_EQ(changed.get_text("sweep.data.image_size"), "[1, 2, 3]");
  EXPECT_EQ(changed.get_text("limits"), "{steps: 7, skip_steps: 1}");
  EXPECT_EQ(changed.get_text("run"), "{output: o}");
}

TEST(ShortShare, LimitsEveryTask) {
  Deck deck = Deck::parse(
      "tasks: [{name: a, deck: {run: {epochs: 3}}, epochs: 9}, {name: b, deck: {run: {steps: 50}}, steps: 5},\n"
      "  {name: c, deck: {run: {steps: 50}}, overrides: {run.steps: 7}}]\n"
      "policy: {interval_s: 10}\narrivals: {wait_s: 60}\n",
      "d.yaml");

  shorten_share(deck);

  EXPECT_EQ(deck.get_text("tasks.1.steps"), "12");
  EXPECT_EQ(deck.get_text("tasks.1.epochs"), "");
  EXPECT_EQ(deck.get_text("tasks.2.steps"), "5");
  EXPECT_EQ(deck.get_text("tasks.3.steps"), "7");
  EXPECT_EQ(deck.get_text("tasks.1.deck.evaluate.limit"), "32");
  EXPECT_EQ(deck.get_text("policy.interval_s"), "1");
  EXPECT_EQ(deck.get_text("arrivals.wait_s"), "1");
}

}  // namespace
}  // namespace multicard
