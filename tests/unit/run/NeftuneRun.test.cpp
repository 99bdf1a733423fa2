// Tuning with noise on the embeddings: the same run on any ranks, with any micro-batches, resumed or not.
#include "support/language_run.hpp"

namespace multicard {
namespace {

using test::oracle_recipe;
using test::ScratchFolder;
using test::train;
using test::Trained;
using test::world;

std::vector<double> losses(const Trained& trained) {
  return trained.result.summary.metrics.at("train_loss").values;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

class NeftuneRun : public testing::Test {
 protected:
  NeftuneRun() { test::write_oracle_shards(scratch_); }

  RunOptions noisy(double alpha = 15) const {
    RunOptions options = oracle_recipe(scratch_, "fp64");
    options.run.steps = 4;
    options.method.neftune_alpha = alpha;
    return options;
  }

  ScratchFolder scratch_;
};

TEST_F(NeftuneRun, IsTheSameOnAnyRanksAndInAnyParts) {
  const std::vector<double> alone = losses(train(noisy(), Communicator::null()));
  RunOptions parts = noisy(), again = noisy(), data_parallel = noisy();
  parts.run.micro_batch = 1;
  again.model.activation_checkpointing = true;
  data_parallel.parallel.strategy = StrategyName::dp;

  for (const RunOptions& options : {noisy(), parts, again, data_parallel})
    expect_near(losses(train(options, world())), alone, 1e-9);
  EXPECT_GT(std::abs(alone.front() - losses(train(noisy(0), world())).front()), 1e-4);
}

TEST_F(NeftuneRun, DrawsOtherNoiseInEveryStepAndWithAnotherSeed) {
  RunOptions still = noisy();
  still.optimizer.learning_rate = 1e-30;
  still.schedule.warmup_steps = 0;
  still.data.limit = 4;  // every step has the same rows
  RunOptions other = still;
  other.run.seed = still.run.seed + 1;

  const std::vector<double> found = losses(train(still, world())), seeded = losses(train(other, world()));

  for (std::size_t i = 1; i < found.size(); ++i)
    EXPECT_GT(std::abs(found[i] - found[i - 1]), 1e-6);
  EXPECT_GT(std::abs(found[0] - seeded[0]), 1e-6);
}

TEST_F(NeftuneRun, IsEvaluatedWithoutNoise) {
  const auto test_loss = [&](double alpha) {
    RunOptions options = noisy(alpha);
    options.data.test = scratch_ / "oracle-*.h5";
    options.evaluate.limit = 6;
    options.evaluate.at_start = true;
    options.run.steps = 1;
    return train(options, world()).result.summary.metrics.at("eval_loss").values.front();
  };

  EXPECT_EQ(test_loss(15), test_loss(0));
}

TEST_F(NeftuneRun, GoesOnBitForBitWhenItIsResumed) {
  RunOptions options = noisy();
  const Trained whole = train(options, world());
  options.run.keep_checkpoints = 1;
  {
    TaskRun training(options, "", world(), {Verbosity::quiet, std::nullopt});
    training.advance(2, nullptr);
    training.finish(nullptr);
  }
  TaskRun rest(options, "", world(), {Verbosity::quiet, CheckpointStore(options.run.output, 1).newest()});
  const RunSummary summary = rest.run(nullptr).summary;

  EXPECT_EQ(summary.metrics.at("train_loss").values, losses(whole));
  const NamedTensors state = rest.task().model_part().tensors;
  for (std::size_t i = 0; i < state.size(); ++i)
    EXPECT_TRUE(state[i].tensor.equal(whole.state[i].tensor)) << state[i].name;
}

RunOptions options_of(const std::string& method) {
  const std::string deck = "task: llm\nmodel: {path: m}\ndata: {train: t.h5}\nmethod: ";
  return read_run_options(Deck::parse(deck + method, "x.yaml"));
}

TEST(NeftuneOptions, BelongToMethodsThatPredictTargetTokens) {
  for (const char* name : {"full", "lora", "qlora", "qat", "lora-qat"})
    EXPECT_EQ(options_of(std::string("{neftune_alpha: 5, name: ") + name + "}").method.neftune_alpha, 5) << name;
  for (const char* name : {"dpo", "lora-dpo", "qlora-dpo"}) {
    EXPECT_THROW(options_of(std::string("{neftune_alpha: 5, name: ") + name + "}"), UsageError) << name;
    EXPECT_EQ(options_of(std::string("{name: ") + name + "}").method.neftune_alpha, 0);
  }
  EXPECT_THROW(options_of("{name: lora, neftune_alpha: -1}"), UsageError);
}

TEST_F(NeftuneRun, ReachesEveryMethod) {
  for (const TuningMethod name : {TuningMethod::full, TuningMethod::qlora, TuningMethod::qat, TuningMethod::lora_qat}) {
    const auto first_loss = [&](double alpha) {
      RunOptions options = noisy(alpha);
      options.model.adapter.reset();
      options.precision = Precision::fp32;
      options.model.dtype = WeightDtype::fp32;
      options.method.name = name;
      options.method.group_size = 32;
      if (options.method.has_adapters()) {
        options.method.rank = 4;
        options.method.alpha = 8;
        options.method.rslora = false;
        options.method.targets = {"all-linear"};
      }
      options.run.steps = 1;
      return losses(train(options, world())).front();
    };
    EXPECT_GT(std::abs(first_loss(15) - first_loss(0)), 1e-5) << word_of(name, kMethodWords);
  }
}

}  // namespace
}  // namespace multicard
