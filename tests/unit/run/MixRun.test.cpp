// Runs on several sets that are mixed by weights.
#include "base/Error.hpp"
#include "config/Deck.hpp"
#include "support/language_run.hpp"
#include "unit/data/test_tokens.hpp"

namespace multicard {
namespace {

using test::train;
using test::Trained;
using test::world;

const std::vector<double>& losses(const Trained& trained) {
  return trained.result.summary.metrics.at("train_loss").values;
}

class MixRun : public testing::Test {
 protected:
  MixRun() {
    test::write_oracle_shards(scratch_);
    if (world().is_root()) {
      Hdf5File file = Hdf5File::create(scratch_ / "counting.h5");
      std::vector<test::Sequence> sequences;
      for (std::uint32_t i = 0; i < 9; ++i)
        sequences.push_back(test::counting(100 * i + 3, 20 + 3 * i, 15));
      write_arrays(file, "", sequences);
      test::write_attributes(file);
      file.write_attribute("/", "tokenizer_sha256", std::string());
      file.close();
      write_pairs("pairs-a.h5", 7, 50);
      write_pairs("pairs-b.h5", 4, 900);
    }
    world().barrier();
  }

  void write_pairs(const std::string& name, std::uint32_t count, std::uint32_t first) const {
    Hdf5File file = Hdf5File::create(scratch_ / name);
    std::vector<test::Sequence> chosen, rejected;
    for (std::uint32_t i = 0; i < count; ++i) {
      chosen.push_back(test::counting(first + 10 * i, 12 + i, 6));
      rejected.push_back(test::counting(first + 10 * i + 5, 10 + 2 * i, 4));
    }
    write_arrays(file, "/chosen", chosen);
    write_arrays(file, "/rejected", rejected);
    test::write_attributes(file);
    file.close();
  }

  /// 80 rows of the oracle and 9 that count: epochs of 89 rows, 23 steps.
  RunOptions recipe(const std::string& precision) const {
    RunOptions options = test::oracle_recipe(scratch_, precision);
    options.data.train.clear();
    options.data.mix = {{scratch_ / "oracle-*.h5", 0.7}, {scratch_ / "counting.h5", 0.3}};
    options.data.shuffle = true;
    options.run.steps = 30;
    return options;
  }

  test::ScratchFolder scratch_;
};

TEST_F(MixRun, TrainsTheSameOnAnyRanks) {
  for (const bool packing : {false, true}) {
    RunOptions options = recipe("fp64");
    options.data.packing = packing;
    if (packing) options.data.max_length = 150;
    const Trained alone = train(options, Communicator::null());
    for (const StrategyName strategy : {StrategyName::dp, StrategyName::ddp, StrategyName::ddp_ds}) {
      options.parallel.strategy = strategy;
      const Trained together = train(options, world());
      for (std::size_t i = 0; i < 30; ++i)
        EXPECT_NEAR(losses(together)[i], losses(alone)[i], 1e-9) << i;
    }
  }
}

TEST_F(MixRun, ContinuesBitForBitInTheMiddleOfAnEpoch) {
  for (const bool packing : {false, true}) {
    RunOptions options = recipe("fp32");
    options.data.packing = packing;
    if (packing) options.data.max_length = 150;
    options.run.keep_checkpoints = 4;
    options.run.checkpoint_every = 13;
    options.run.output = scratch_ / (packing ? "packed" : "plain");
    const Trained whole = train(options, world());
    const std::string output = options.run.output;
    for (const char* step : {"13", "26"}) {
      options.run.output = output + "-from-" + step;

      TaskRun training(options, "", world(),
                       {Verbosity::quiet, output + "/checkpoints/step_000000" + std::string(step)});
      const RunResult rest = training.run(nullptr);

      const NamedTensors state = training.task().model_part().tensors;
      for (std::size_t i = 0; i < state.size(); ++i)
        EXPECT_TRUE(state[i].tensor.equal(whole.state[i].tensor)) << step << " " << state[i].name;
      EXPECT_EQ(rest.summary.metrics.at("train_loss").values.back(), losses(whole).back());
    }
  }
}

std::string refusal(const RunOptions& options, const std::string& checkpoint) {
  try {
    TaskRun training(options, "", world(), {Verbosity::quiet, checkpoint});
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(MixRun, DoesNotContinueWithOtherWeightsOrSets) {
  RunOptions options = recipe("fp32");
  options.run.steps = 4;
  options.run.keep_checkpoints = 1;
  train(options, world());
  const std::string checkpoint = options.run.output + "/checkpoints/step_00000004";
  options.run.output += "-again";
  options.run.steps = 8;
  options.data.mix[0].weight = 7;
  options.data.mix[1].weight = 3.5;
  EXPECT_EQ(refusal(options, checkpoint).rfind("data.train has changed", 0), 0U);
  options.data.mix = recipe("fp32").data.mix;
  std::swap(options.data.mix[0], options.data.mix[1]);
  EXPECT_EQ(refusal(options, checkpoint).rfind("data.train has changed", 0), 0U);
  options.data.mix = recipe("fp32").data.mix;
  EXPECT_EQ(refusal(options, checkpoint), "nothing was thrown");
}

TEST_F(MixRun, MixesPreferencePairs) {
  RunOptions options = recipe("fp64");
  options.method.name = TuningMethod::lora_dpo;
  options.data.mix = {{scratch_ / "pairs-a.h5", 1}, {scratch_ / "pairs-b.h5", 2}};
  options.run.steps = 8;
  const Trained alone = train(options, Communicator::null());
  const Trained together = train(options, world());
  options.method.preference.reference = Reference::cached;
  const Trained cached = train(options, world());
  options.data.limit = 5;
  const Trained limited = train(options, world());

  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(losses(together)[i], losses(alone)[i], 1e-9) << i;
    EXPECT_NEAR(losses(cached)[i], losses(alone)[i], 1e-5) << i;
  }
  EXPECT_EQ(alone.result.record.samples, (std::vector<std::int64_t>{4, 4, 3, 4, 4, 3, 4, 4}));
  EXPECT_NE(losses(limited)[3], losses(cached)[3]);
}

RunOptions options_of(const std::string& data) {
  return read_run_options(Deck::parse("task: llm\nmodel: {path: m}\ndata: " + data, "x.yaml"));
}

std::string complaint(const std::string& data) {
  try {
    options_of(data);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "none";
}

TEST(MixOptions, AreAListOfFilesWithWeights) {
  const RunOptions options = options_of("{train: [{files: a*.h5, weight: 0.75}, {files: b.h5}]}");
  EXPECT_EQ(options.data.mix, (std::vector<WeightedFiles>{{"a*.h5", 0.75}, {"b.h5", 1}}));
  EXPECT_EQ(options.data.training_files(), (std::vector<std::string>{"a*.h5", "b.h5"}));
  EXPECT_TRUE(options_of("{train: a*.h5}").data.mix.empty());
  EXPECT_EQ(options_of("{train: a*.h5}").data.training_files(), std::vector<std::string>{"a*.h5"});
}

TEST(MixOptions, StandInTheResolvedDeck) {
  const Deck deck = with_defaults(Deck::parse(
      "task: llm\nmodel: {path: m}\ndata: {train: [{weight: 3, files: a*.h5}, {files: \"b: c.h5\"}]}", "x.yaml"));
  EXPECT_EQ(deck.get_text("data.train"), "[{files: a*.h5, weight: 3}, {files: b: c.h5, weight: 1}]");
  EXPECT_EQ(Deck::parse(deck.to_yaml(), "x.yaml").get_text("data.train"), deck.get_text("data.train"));
  EXPECT_EQ(with_defaults(deck).root(), deck.root());
}

TEST(MixOptions, AreRefusedByName) {
  EXPECT_NE(complaint("{train: [{files: a.h5, wieght: 2}]}").find("data.train.1.wieght: unknown key"),
            std::string::npos)
      << complaint("{train: [{files: a.h5, wieght: 2}]}");
  EXPECT_NE(complaint("{train: [{files: a.h5}, {weight: 2}]}").find("data.train.2.files: is missing"),
            std::string::npos);
  EXPECT_NE(complaint("{train: [{files: a.h5, weight: 0}]}").find("data.train.1.weight: expected more than 0"),
            std::string::npos);
  EXPECT_NE(complaint("{train: [a.h5, b.h5]}").find("expected a list of sections"), std::string::npos);
  EXPECT_NE(complaint("{train: []}").find("is an empty list"), std::string::npos);
  try {
    read_run_options(Deck::parse("data: {train: [{files: a.h5}]}", "x.yaml"));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("data.train: a list of sets is for text"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace multicard
