#include "share/ShareOptions.hpp"

#include <gtest/gtest.h>

#include "io/Bytes.hpp"
#include "support/expect_error.hpp"
#include "support/test_world.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;

class ShareOptionsTest : public testing::Test {
 protected:
  ShareOptionsTest() {
    write_file(scratch_ / "run.yaml",
               "task: image\ndata: {train: x.h5}\nrun: {output: out, steps: 5, global_batch: 8}\n");
  }

  void write(const std::string& text) const { write_file(scratch_ / "share.yaml", text); }

  ShareOptions read_with(const std::vector<std::string>& overrides, RunScale scale = RunScale::full) const {
    return read_share_options(load_share_deck(scratch_ / "share.yaml", overrides, scale));
  }

  ShareOptions read(const std::string& text) const {
    write(text);
    return read_with({});
  }

  void refuse(const std::string& text, const std::string& part) const {
    const std::string message = test::message_of<UsageError>([&] { read(text); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  const ScratchFolder& folder() const { return scratch_; }

 private:
  ScratchFolder scratch_;
};

TEST_F(ShareOptionsTest, ReadsAWholeDeck) {
  const ShareOptions options = read(
      "objective: fairness\n"
      "tasks:\n"
      "  - {name: a, deck: run.yaml, epochs: 3, weight: 2, min_ranks: 2, max_ranks: 4}\n"
      "  - {name: b, deck: run.yaml, overrides: {run.seed: 9, data.image_size: 64}}\n"
      "policy: {name: fixed, interval_s: 3, ranks: {a: 2, b: 1}, placement: spread}\n"
      "arrivals: {folder: in, wait_s: 5}\n"
      "run: {output: shared, wall_limit: \"1:00:00\", timeout_s: 20, checkpoint_every_s: 60}\n");

  EXPECT_EQ(options.objective, Objective::fairness);
  ASSERT_EQ(options.tasks.size(), 2U);
  EXPECT_EQ(options.tasks[0].weight, 2);
  EXPECT_EQ(options.tasks[0].min_ranks, 2);
  EXPECT_EQ(options.tasks[0].max_ranks, 4);
  EXPECT_EQ(options.tasks[0].deck.get_text("run.epochs"), "3");
  EXPECT_EQ(options.tasks[0].deck.get_text("run.steps"), "") << "the one length replaces the other";
  EXPECT_EQ(options.tasks[1].deck.get_text("run.seed"), "9");
  EXPECT_EQ(options.tasks[1].deck.get_text("data.image_size"), "64");
  EXPECT_EQ(options.policy.name, SharePolicyName::fixed);
  EXPECT_EQ(options.policy.ranks.at("a"), 2);
  EXPECT_EQ(options.policy.placement, Spread::spread);
  EXPECT_EQ(options.arrivals.wait_s, 5);
  EXPECT_EQ(options.run.wall_limit, 3600);
  EXPECT_EQ(options.unused, (std::vector<std::string>{"a: run.output", "b: run.output"}));
}

TEST_F(ShareOptionsTest, TakesOverridesOfSingleKeysOfATask) {
  write("tasks: [{name: a, deck: run.yaml, epochs: 3, overrides: {run.seed: 2}}]\n");
  const ShareOptions options =
      read_with({"tasks.1.steps=7", "tasks.1.overrides.run.log_every=4", "tasks.1.overrides.run.seed=5",
                 "tasks.1.overrides.data.train=y.h5", "tasks.1.weight=2"});
  const Deck& deck = options.tasks.at(0).deck;
  EXPECT_EQ(deck.get_text("run.steps"), "7");
  EXPECT_EQ(deck.get_text("run.log_every"), "4");
  EXPECT_EQ(deck.get_text("run.seed"), "5");
  EXPECT_EQ(deck.get_text("data.train"), "y.h5");
  EXPECT_EQ(deck.get_text("run.global_batch"), "8") << "the rest of the section is the run deck's";
  EXPECT_EQ(options.tasks.at(0).weight, 2);
}

TEST_F(ShareOptionsTest, IsShortInASmokeRun) {
  write_file(folder() / "run.yaml", "data: {train: x.h5}\nrun: {steps: 50}\nsmoke: {run: {steps: 6}}\n");
  write(
      "tasks: [{name: a, deck: run.yaml}, {name: b, deck: run.yaml, epochs: 3}]\nrun: {output: out}\n"
      "smoke: {policy: {interval_s: 0.5}}\n");

  const ShareOptions full = read_with({}), smoke = read_with({}, RunScale::smoke);
  const ShareOptions changed = read_with({"tasks.2.epochs=2", "run.output=mine"}, RunScale::smoke);

  EXPECT_EQ(read_run_options(full.tasks[0].deck).run.steps, 50);
  EXPECT_EQ(read_run_options(smoke.tasks[0].deck).run.steps, 6);
  EXPECT_EQ(read_run_options(smoke.tasks[1].deck).run.steps, 6);
  EXPECT_EQ(smoke.policy.interval_s, 0.5);
  EXPECT_EQ(smoke.run.output, "out_smoke");
  EXPECT_EQ(smoke.run.resume, ResumeMode::never);
  EXPECT_EQ(read_run_options(changed.tasks[1].deck).run.epochs, 2);
  EXPECT_EQ(changed.run.output, "mine");
  EXPECT_EQ(changed.run.resume, ResumeMode::automatic);
}

TEST_F(ShareOptionsTest, AnOverrideThatIsAMapReplacesItsSection) {
  write("tasks: [{name: a, deck: run.yaml, overrides: {run: {steps: 9}}}]\n");
  const Deck deck = read_with({}).tasks.at(0).deck;
  EXPECT_EQ(deck.get_text("run"), "{steps: 9}");
}

TEST_F(ShareOptionsTest, RefusesWhatCannotBeShared) {
  const std::string a = "tasks: [{name: a, deck: run.yaml}]\n";
  refuse("tasks: [{name: a, deck: run.yaml, overrides: {run.batch_per_rank: 4}}]", "run.batch_per_rank");
  refuse("tasks: [{name: a, deck: run.yaml}, {name: a, deck: run.yaml}]", "two tasks are named 'a'");
  refuse("tasks: [{name: a/b, deck: run.yaml}]", "cannot be the name of a folder");
  refuse("tasks: [{name: a}]", "deck");
  refuse("tasks: [{name: a, deck: none.yaml}]", "none.yaml");
  refuse("tasks: [{name: a, deck: run.yaml, steps: 1, epochs: 2}]", "epochs");
  refuse("tasks: [{name: a, deck: run.yaml, min_ranks: 3, max_ranks: 2}]", "max_ranks");
  refuse("tasks: [{name: a, deck: run.yaml, wait: 2}]", "wait");
  refuse("tasks: [{name: a, deck: run.yaml, weight: 1e308}]", "weight");
  refuse("tasks: [{name: a, deck: run.yaml}, {name: b, deck: run.yaml, steps: 0}]", "task b, run.steps");
  refuse("policy: {name: equal}", "tasks");
  refuse(a + "policy: {name: fixed}", "policy.ranks");
  refuse(a + "policy: {name: fixed, ranks: {b: 1}}", "no task is named 'b'");
  refuse(a + "policy: {ranks: {a: 1}}", "policy.ranks");
  refuse(a + "policy: {placement: spread}", "policy.placement");
  refuse(a + "policy: {name: fixed, ranks: {a: 0}}", "policy.ranks.a");
  refuse("tasks: [{name: a, deck: run.yaml, min_ranks: 2}]\npolicy: {name: fixed, ranks: {a: 1}}",
         "less than it needs");
  refuse("tasks: [{name: a, deck: run.yaml}, {name: b, deck: run.yaml}]\npolicy: {name: fixed, ranks: {a: 1}}",
         "'b' less than it needs");
  refuse(a + "run: {resume: always}", "run.resume");
  refuse(a + "run: {device: tpu}", "run.device");
  refuse(a + "policy: {interval_s: 1e-9}", "policy.interval_s: expected 0.1 to 1000000000");
  refuse(a + "policy: {interval_s: .nan}", "policy.interval_s");
  refuse(a + "arrivals: {folder: new, wait_s: 1e300}", "arrivals.wait_s");
  refuse(a + "run: {timeout_s: 1e300}", "run.timeout_s");
  refuse(a + "run: {checkpoint_every_s: 1e-300}", "run.checkpoint_every_s");
  refuse(a + "run: {wall_limit: 1e300}", "run.wall_limit");
}

TEST(ShareInputs, CanBeShared) {
  for (const char* deck :
       {"share/tiny.yaml", "share/uneven.yaml", "share/vision_and_llm.yaml", "tests/slurm_share.yaml"}) {
    for (const RunScale scale : {RunScale::full, RunScale::smoke}) {
      const ShareOptions options =
          read_share_options(load_share_deck(test::source_path(std::string("inputs/") + deck).string(), {}, scale));
      EXPECT_EQ(options.tasks.size(), 2U) << deck;
      for (const ShareTaskOptions& task : options.tasks)
        EXPECT_NO_THROW(read_run_options(task.deck)) << deck;
    }
  }
  std::vector<std::string> unused;
  const Deck entry = load_arrival(test::source_path("inputs/share/arrival.yaml").string());
  EXPECT_NO_THROW(read_run_options(read_arrival(entry, {}, unused).deck));
}

}  // namespace
}  // namespace multicard
