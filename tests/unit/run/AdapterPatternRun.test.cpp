// Runs of adapters with unequal ranks and alphas and with modules that are trained whole.
#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "state/PeftAdapter.hpp"
#include "support/language_run.hpp"

namespace multicard {
namespace {

using test::source_path;
using test::train;
using test::Trained;
using test::world;

std::string pattern_oracle(const std::string& file) {
  return source_path("tests/data/oracles/patterns/" + file).string();
}

const std::vector<double>& metric(const Trained& trained, const std::string& name) {
  return trained.result.summary.metrics.at(name).values;
}

class AdapterPatternRun : public testing::Test {
 protected:
  AdapterPatternRun() { test::write_oracle_shards(scratch_); }

  /// That of the oracle.
  RunOptions recipe(const std::string& precision) const {
    RunOptions options = test::oracle_recipe(scratch_, precision);
    options.model.adapter = pattern_oracle("adapter");
    options.optimizer.weight_decay = 0;
    options.optimizer.clip_norm.reset();
    options.schedule = {};
    options.run.steps = 5;
    return options;
  }

  /// The same without an adapter to start from.
  RunOptions fresh_recipe(const std::string& precision, TuningMethod method = TuningMethod::lora) const {
    RunOptions options = recipe(precision);
    options.model.adapter.reset();
    options.method.name = method;
    options.method.rank = 4;
    options.method.alpha = 8;
    options.method.rslora = false;
    options.method.targets = {"q_proj", "down_proj"};
    options.method.patterns = {{{"down_proj", 2}}, {{R"(layers\.1\..*)", 16}}};
    options.method.modules_to_save = {"lm_head", "model.norm"};
    options.method.group_size = 32;
    return options;
  }

  test::ScratchFolder scratch_;
};

TEST_F(AdapterPatternRun, FollowsPeft) {
  const auto expected = nlohmann::json::parse(read_file(pattern_oracle("oracle.json"))).at("training");

  const Trained trained = train(recipe("fp64"), world());

  ASSERT_EQ(metric(trained, "train_loss").size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(metric(trained, "train_loss")[i], expected["loss"][i].get<double>(), 2e-5) << i;
    EXPECT_NEAR(metric(trained, "grad_norm")[i] / expected["grad_norm"][i].get<double>(), 1, 2e-5) << i;
  }
}

TEST_F(AdapterPatternRun, AllStrategiesTrainTheSame) {
  RunOptions options = recipe("fp64");
  const Trained alone = train(options, Communicator::null());
  options.run.micro_batch = 1;
  for (const StrategyName strategy : {StrategyName::dp, StrategyName::ddp, StrategyName::ddp_ds}) {
    options.parallel.strategy = strategy;
    const Trained together = train(options, world());
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(metric(together, "train_loss")[i], metric(alone, "train_loss")[i], 1e-9) << i;
    for (std::size_t i = 0; i < alone.state.size(); ++i)
      EXPECT_LE((together.state[i].tensor - alone.state[i].tensor).norm().item<double>(), 1e-7) << alone.state[i].name;
  }
}

TEST_F(AdapterPatternRun, WritesWhatItReadsAndContinuesBitForBit) {
  for (const bool is_fresh : {false, true}) {
    RunOptions options = is_fresh ? fresh_recipe("bf16") : recipe("bf16");
    options.run.keep_checkpoints = 2;
    options.run.checkpoint_every = 2;
    options.run.output = scratch_ / (is_fresh ? "fresh" : "started");
    const Trained whole = train(options, world());
    const std::string checkpoint = options.run.output + "/checkpoints/step_00000004";
    options.run.output += "-rest";

    TaskRun training(options, "", world(), {Verbosity::quiet, checkpoint});
    training.run(nullptr);

    const NamedTensors state = training.task().model_part().tensors;
    ASSERT_EQ(state.size(), whole.state.size());
    for (std::size_t i = 0; i < state.size(); ++i)
      EXPECT_TRUE(state[i].tensor.equal(whole.state[i].tensor)) << state[i].name;
    const PeftAdapter written = PeftAdapter::open(checkpoint);
    EXPECT_EQ(written.saved_weights().size(), is_fresh ? 2U : 7U);
    EXPECT_EQ(written.config().settings.patterns.rank.size(), is_fresh ? 1U : 3U);
    EXPECT_EQ(written.config().settings.modules_to_save,
              is_fresh ? options.method.modules_to_save
                       : PeftAdapter::open(pattern_oracle("adapter")).config().settings.modules_to_save);
    if (!is_fresh) continue;
    EXPECT_EQ(written.file().view(PeftAdapter::a_name("model.layers.0.mlp.down_proj")).size(0), 2);
    EXPECT_EQ(written.file().view(PeftAdapter::a_name("model.layers.0.self_attn.q_proj")).size(0), 4);
  }
}

TEST_F(AdapterPatternRun, TrainsOnQuantisedAndRoundedBases) {
  const Trained plain = train(fresh_recipe("fp32"), world());
  for (const TuningMethod method : {TuningMethod::qlora, TuningMethod::lora_qat}) {
    const Trained trained = train(fresh_recipe("fp32", method), world());
    ASSERT_EQ(trained.state.size(), plain.state.size());
    EXPECT_NE(metric(trained, "train_loss")[0], metric(plain, "train_loss")[0]);
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_NEAR(metric(trained, "train_loss")[i], metric(plain, "train_loss")[i], 0.2) << i;
    EXPECT_LT(metric(trained, "train_loss")[4], 6.85) << word_of(method, kMethodWords);
  }
}

TEST_F(AdapterPatternRun, CountsModulesToSave) {
  RunOptions options = fresh_recipe("fp32");
  const auto parameters = [&] { return train(options, world()).result.record.memory.at("model/parameters"); };
  const std::int64_t with = parameters();
  options.method.modules_to_save.clear();
  EXPECT_EQ(with - parameters(), 4 * (2048 * 128 + 128));
}

/// The message of a run that is refused.
std::string refusal(const RunOptions& options) {
  try {
    train(options, world());
  } catch (const Error& error) {
    return error.code() == ExitCode::usage ? error.what() : "another code";
  }
  return "nothing was thrown";
}

TEST_F(AdapterPatternRun, TakesWhatTheAdapterSaysInOtherWordsOnly) {
  RunOptions options = recipe("fp32");
  options.run.steps = 1;
  options.method.patterns.rank = {{R"(layers\.1\.mlp\..*)", 6}, {"down_proj", 3}, {".*[qv]_proj", 2}};
  options.method.patterns.alpha = {{"v_proj", 12}, {"0.mlp.up_proj", 1}};
  options.method.modules_to_save = {"embed_tokens", "head", "layernorm", "model.norm"};
  EXPECT_EQ(refusal(options), "nothing was thrown");
  options.method.modules_to_save.pop_back();
  EXPECT_EQ(refusal(options).rfind("method.modules_to_save is embed_tokens, head, layernorm, but the adapter's is", 0),
            0U)
      << refusal(options);
  options.method.modules_to_save.clear();
  options.method.patterns.alpha = {{"v_proj", 13}};
  EXPECT_EQ(refusal(options).rfind("method.alpha_pattern is {v_proj: 13}, but the adapter's is", 0), 0U)
      << refusal(options);
  options.method.patterns.alpha.clear();
  options.method.patterns.rank.pop_back();
  EXPECT_EQ(refusal(options).rfind("method.rank_pattern is {", 0), 0U) << refusal(options);
}

TEST_F(AdapterPatternRun, RefusesModulesThatAreNone) {
  RunOptions options = fresh_recipe("fp32");
  options.method.modules_to_save = {"lm_haed"};
  EXPECT_NE(refusal(options).find("method.modules_to_save: \"lm_haed\" is no module"), std::string::npos)
      << refusal(options);
}

}  // namespace
}  // namespace multicard
