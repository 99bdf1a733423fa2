// Asking a model while it is tuned: the same answers on any number of ranks, and nothing of the training changes.
#include "generation/GenerationEvaluation.hpp"

#include "support/language_run.hpp"

namespace multicard {
namespace {

using test::oracle_recipe;
using test::ScratchFolder;
using test::train;
using test::Trained;
using test::world;
using test::write_oracle_shards;

class GenerationEvaluationTest : public testing::Test {
 protected:
  GenerationEvaluationTest() {
    write_oracle_shards(scratch_);
    if (world().is_root()) {
      std::ofstream out(scratch_ / "questions.jsonl");
      for (int i = 0; i < 5; ++i)
        out << R"({"question": "What is 1 and 1?", "answer": "#### )" << i << "\"}\n";
    }
    world().barrier();
  }

  RunOptions plain() const {
    RunOptions options = oracle_recipe(scratch_, "fp64");
    options.method.dropout = 0.1;
    options.optimizer.learning_rate = 0.02;  // so that answers change
    options.schedule.warmup_steps = 0;
    options.run.steps = 6;
    return options;
  }

  RunOptions asking() const {
    RunOptions options = plain();
    options.evaluate.at_start = true;
    options.evaluate.questions = QuestionOptions{scratch_ / "questions.jsonl", 3, 8};
    options.evaluate.prompts = {"Once upon a time", "Name a colour.", "Once upon a time"};
    options.evaluate.max_new = 10;
    return options;
  }

  ScratchFolder scratch_;
};

TEST_F(GenerationEvaluationTest, LeavesTheTrainingBitForBit) {
  const Trained silent = train(plain(), world()), asked = train(asking(), world());

  for (const char* metric : {"train_loss", "grad_norm"})
    EXPECT_EQ(silent.result.summary.metrics.at(metric).values, asked.result.summary.metrics.at(metric).values)
        << metric;
  ASSERT_EQ(silent.state.size(), asked.state.size());
  for (std::size_t i = 0; i < silent.state.size(); ++i)
    EXPECT_TRUE(silent.state[i].tensor.equal(asked.state[i].tensor)) << silent.state[i].name;
}

TEST_F(GenerationEvaluationTest, GivesTheSameAnswersOnAnyNumberOfRanks) {
  const RunSummary alone = train(asking(), Communicator::null()).result.summary;
  const RunSummary together = train(asking(), world()).result.summary;

  const auto& a = alone.tables.at("answers").text;
  EXPECT_EQ(a, together.tables.at("answers").text);
  EXPECT_EQ(a.at("prompt").size(), 3u);
  EXPECT_FALSE(a.at("before")[0].empty());
  EXPECT_EQ(a.at("before")[0], a.at("before")[2]);
  EXPECT_NE(a.at("before"), a.at("after"));
  for (const char* metric : {"eval_exact_match", "eval_questions"})
    EXPECT_EQ(alone.metrics.at(metric).values, together.metrics.at(metric).values) << metric;
  EXPECT_EQ(together.metrics.at("eval_questions").values, (std::vector<double>{3, 3}));
  EXPECT_EQ(together.metrics.at("eval_exact_match").steps, (std::vector<std::int64_t>{0, 6}));
}

TEST_F(GenerationEvaluationTest, AsksQuestionsBeforeOnlyWhenEvaluatingAtStart) {
  RunOptions options = asking();
  options.evaluate.at_start = false;

  const RunSummary summary = train(options, world()).result.summary;

  EXPECT_EQ(summary.metrics.at("eval_exact_match").steps, std::vector<std::int64_t>{6});
  EXPECT_FALSE(summary.tables.at("answers").text.at("before")[0].empty());
}

TEST_F(GenerationEvaluationTest, AnswersWithTheAverageThatIsEvaluated) {
  RunOptions frozen = asking();
  frozen.run.ema_decay = 1 - 1e-12;  // the average stays where it began

  const RunSummary summary = train(frozen, world()).result.summary;

  const auto& answers = summary.tables.at("answers").text;
  EXPECT_EQ(answers.at("before"), answers.at("after"));
}

TEST_F(GenerationEvaluationTest, RefusesPromptsTooLongForTheModel) {
  RunOptions options = asking();
  options.evaluate.max_new = 1 << 20;

  EXPECT_THROW(train(options, world()), Error);
}

}  // namespace
}  // namespace multicard
