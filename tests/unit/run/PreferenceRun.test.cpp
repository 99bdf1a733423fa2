// Tuning on preference pairs from shards: the numbers of TRL, whatever the ranks, strategies and micro-batches.
#include <cmath>
#include <filesystem>
#include <numbers>

#include "base/RegularFile.hpp"
#include "data/shards/ReferenceFile.hpp"
#include "support/moving.hpp"
#include "unit/data/test_tokens.hpp"

namespace multicard {
namespace {

using test::oracle_recipe;
using test::ScratchFolder;
using test::train;
using test::Trained;
using test::world;

constexpr std::size_t kSteps = 10;

std::string dpo_oracle(const std::string& file) {
  return test::source_path("tests/data/oracles/dpo/" + file).string();
}

/// Sequences of one half of the oracle's pairs, without padding.
std::vector<test::Sequence> half_of_oracle(const std::string& half) {
  const TensorFile batches(dpo_oracle("batches.safetensors"));
  const at::Tensor ids = batches.load(half + "_ids").flatten(0, 1),
                   labels = batches.load(half + "_labels").flatten(0, 1);
  const at::Tensor lengths = batches.load(half + "_mask").flatten(0, 1).sum(1);
  std::vector<test::Sequence> sequences;
  for (std::int64_t row = 0; row < ids.size(0); ++row) {
    test::Sequence sequence;
    for (std::int64_t i = 0; i < lengths[row].item<std::int64_t>(); ++i) {
      sequence.tokens.push_back(static_cast<std::uint32_t>(ids[row][i].item<std::int64_t>()));
      sequence.loss_mask.push_back(labels[row][i].item<std::int64_t>() < 0 ? 0 : 1);
    }
    sequences.push_back(sequence);
  }
  return sequences;
}

/// The oracle's 10 batches of 4 pairs as shards scratch/pairs-*, in its order.
void write_pairs(const ScratchFolder& scratch) {
  if (world().is_root()) {
    const std::vector<test::Sequence> chosen = half_of_oracle("chosen"), rejected = half_of_oracle("rejected");
    const auto part = [](const std::vector<test::Sequence>& all, std::size_t first, std::size_t end) {
      return std::vector(all.begin() + static_cast<std::ptrdiff_t>(first),
                         all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    const std::size_t ends[] = {0, 17, chosen.size()};
    for (std::size_t shard = 0; shard < 2; ++shard) {
      Hdf5File file = Hdf5File::create(scratch / ("pairs-0000" + std::to_string(shard) + "-of-00002.h5"));
      write_arrays(file, "/chosen", part(chosen, ends[shard], ends[shard + 1]));
      write_arrays(file, "/rejected", part(rejected, ends[shard], ends[shard + 1]));
      test::write_attributes(file);
      file.write_attribute("/", "tokenizer_sha256", std::string());
      file.close();
    }
  }
  world().barrier();
}

const std::vector<double>& metric(const Trained& trained, const std::string& name) {
  return trained.result.summary.metrics.at(name).values;
}

class PreferenceRun : public testing::Test {
 protected:
  PreferenceRun() { write_pairs(scratch_); }

  RunOptions recipe(const std::string& precision, TuningMethod method = TuningMethod::lora_dpo) const {
    RunOptions options = oracle_recipe(scratch_, precision);
    options.method.name = method;
    options.method.preference.reference = options.method.has_adapters() ? Reference::adapters_off : Reference::copy;
    if (!options.method.has_adapters()) options.model.adapter.reset();
    options.data.train = scratch_ / "pairs-*.h5";
    options.schedule = {};
    options.run.output = scratch_ / ("out-" + std::to_string(num_outputs_++));
    return options;
  }

  /// \param from the first step whose accuracy is no matter of rounding
  static void expect_oracle(const Trained& trained, const std::string& variant, double tolerance,
                            double norm_tolerance) {
    const auto oracle = nlohmann::json::parse(read_file(dpo_oracle("oracle.json"))).at(variant).at("steps");
    ASSERT_EQ(metric(trained, "train_loss").size(), kSteps);
    const std::pair<const char*, const char*> names[] = {{"train_loss", "loss"},
                                                         {"reward_chosen", "chosen_reward"},
                                                         {"reward_rejected", "rejected_reward"},
                                                         {"reward_margin", "margin"},
                                                         {"reward_accuracy", "accuracy"}};
    for (std::size_t i = 0; i < kSteps; ++i) {
      for (const auto& [name, of_oracle] : names)
        EXPECT_NEAR(metric(trained, name)[i], oracle[i][of_oracle].get<double>(), tolerance) << name << " " << i;
      EXPECT_NEAR(metric(trained, "grad_norm")[i] / oracle[i]["grad_norm"].get<double>(), 1, norm_tolerance) << i;
    }
  }

  static void expect_near(const Trained& a, const Trained& b, double tolerance, std::size_t num_steps = kSteps) {
    for (const char* name : {"train_loss", "reward_chosen", "reward_rejected", "reward_margin", "grad_norm"})
      for (std::size_t i = 0; i < num_steps; ++i)
        EXPECT_NEAR(metric(a, name)[i], metric(b, name)[i], tolerance) << name << " " << i;
  }

  ScratchFolder scratch_;
  mutable int num_outputs_ = 0;
};

TEST_F(PreferenceRun, FollowsTrlInFloat32) {
  expect_oracle(train(recipe("fp32"), world()), "float32", 1e-4, 1e-4);
}

TEST_F(PreferenceRun, FollowsTrlInFloat64) {
  // The oracle's norms and rotary tables are float32 there: 1e-6 is what it is good for.
  expect_oracle(train(recipe("fp64"), world()), "float64", 5e-6, 5e-6);
}

TEST_F(PreferenceRun, AccumulatesPairs) {
  for (const int rows : {1, 3}) {
    RunOptions options = recipe("fp32");
    options.run.micro_batch = rows;

    expect_oracle(train(options, world()), "float32", 1e-4, 1e-4);
  }
}

TEST_F(PreferenceRun, AllStrategiesTrainTheSame) {
  RunOptions options = recipe("fp64");
  const Trained alone = train(options, Communicator::null());
  for (const char* strategy : {"dp", "ddp"}) {
    options.parallel.strategy = value_of<StrategyName>(strategy, kStrategyWords).value();
    SCOPED_TRACE(strategy);

    expect_near(train(options, world()), alone, 1e-10);
  }
}

TEST_F(PreferenceRun, BeginsWithTheLossOfEqualModels) {
  const std::pair<PreferenceLoss, double> expected[] = {{PreferenceLoss::sigmoid, std::numbers::ln2},
                                                        {PreferenceLoss::robust, std::numbers::ln2},
                                                        {PreferenceLoss::ipo, 25.0},
                                                        {PreferenceLoss::hinge, 1.0}};
  for (const TuningMethod method : {TuningMethod::lora_dpo, TuningMethod::qlora_dpo, TuningMethod::dpo})
    for (const auto& [loss, value] : expected) {
      RunOptions options = recipe("bf16", method);
      options.method.preference.loss = loss;
      options.run.steps = 1;

      const Trained trained = train(options, world());

      EXPECT_DOUBLE_EQ(metric(trained, "train_loss")[0], value) << word_of(loss, kPreferenceLossWords);
      EXPECT_EQ(metric(trained, "reward_margin")[0], 0);
      EXPECT_EQ(metric(trained, "reward_accuracy")[0], 0) << "ties are not right";
    }
}

TEST_F(PreferenceRun, ReferencesOfAllKindsAreTheSame) {
  RunOptions options = recipe("fp32");
  const Trained expected = train(options, world());
  options.method.preference.reference = Reference::copy;
  expect_near(train(options, world()), expected, 1e-6);
  options.method.preference.reference = Reference::cached;

  const Trained computed = train(options, world()), read = train(options, world());

  expect_near(computed, expected, 1e-5);
  for (const char* name : {"train_loss", "grad_norm", "reward_chosen", "reward_accuracy"})
    EXPECT_EQ(metric(read, name), metric(computed, name)) << name;
}

TEST_F(PreferenceRun, RecordsAdaptersAndReferenceAmongItsMemory) {
  RunOptions options = recipe("fp32");
  options.run.steps = 1;
  const auto adapters_off = train(options, world()).result.record.memory;
  EXPECT_GT(adapters_off.at("model/adapters"), 0);
  EXPECT_EQ(adapters_off.at("model/adapters"), adapters_off.at("model/parameters"));
  EXPECT_EQ(adapters_off.at("model/reference"), 0);

  options.method.preference.reference = Reference::copy;
  const auto copy = train(options, world()).result.record.memory;
  EXPECT_GT(copy.at("model/reference"), 0);
  EXPECT_EQ(copy.at("model/frozen"), adapters_off.at("model/frozen") + copy.at("model/reference"));

  options = recipe("fp32", TuningMethod::dpo);
  options.run.steps = 1;
  const auto full = train(options, world()).result.record.memory;
  EXPECT_EQ(full.at("model/adapters"), 0);
  EXPECT_EQ(full.at("model/reference"), full.at("model/parameters"));
}

TEST_F(PreferenceRun, KeepsTheLogProbabilitiesOfTheOracle) {
  RunOptions options = recipe("fp32");
  options.method.preference.reference = Reference::cached;
  options.run.steps = 1;
  options.data.shuffle = true;

  train(options, world());

  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(scratch_ / ""))
    if (is_reference_file(entry.path().string())) files.push_back(entry.path().string());
  ASSERT_EQ(files.size(), 1U);
  const Hdf5File file = Hdf5File::open_read(files.front());
  const auto oracle = nlohmann::json::parse(read_file(dpo_oracle("oracle.json")))["float64"]["steps"];
  for (const char* half : {"chosen", "rejected"}) {
    const auto values = file.read_values<float>(std::string("/") + half);
    ASSERT_EQ(values.size(), 4 * kSteps);
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], oracle[i / 4]["ref_" + std::string(half) + "_logps"][i % 4].get<double>(), 1e-3) << i;
  }
}

TEST_F(PreferenceRun, RefusesReferencesThatAreStaleOrDamaged) {
  RunOptions options = recipe("fp32");
  options.method.preference.reference = Reference::cached;
  options.run.steps = 1;
  train(options, world());
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(scratch_ / ""))
    if (is_reference_file(entry.path().string())) path = entry.path().string();
  const auto refusal = [&] {
    const Trained trained = train(options, world());
    return trained.result.failure ? std::string(trained.result.failure->what()) : std::string();
  };

  world().barrier();
  write_reference(path, std::string(64, '0'), {std::vector<float>(40, 0), std::vector<float>(40, 0)}, world());
  EXPECT_NE(refusal().find("is stale"), std::string::npos);
  world().barrier();
  if (world().is_root()) std::filesystem::resize_file(path, 1000);
  world().barrier();
  EXPECT_NE(refusal().find("is damaged"), std::string::npos);
}

TEST_F(PreferenceRun, AnotherModelHasAnotherReference) {
  RunOptions options = recipe("fp32");
  options.method.preference.reference = Reference::cached;
  options.run.steps = 1;
  const auto count = [&] {
    world().barrier();
    std::int64_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_ / ""))
      if (is_reference_file(entry.path().string())) ++files;
    world().barrier();
    return files;
  };
  train(options, world());
  EXPECT_EQ(count(), 1);
  train(options, world());
  EXPECT_EQ(count(), 1);
  options.data.max_length = 64;
  train(options, world());
  EXPECT_EQ(count(), 2) << "other tokens";
  options.method.name = TuningMethod::qlora_dpo;
  train(options, world());
  EXPECT_EQ(count(), 3) << "other weights";
  options.method.preference.length_average = true;
  train(options, world());
  EXPECT_EQ(count(), 4) << "means instead of sums";
}

TEST_F(PreferenceRun, HasTheOriginalsOfModulesToSaveAsReference) {
  RunOptions options = recipe("fp64");
  options.model.adapter.reset();
  options.method.rank = 4;
  options.method.alpha = 8;
  options.method.rslora = false;
  options.method.targets = {"all-linear"};
  options.method.modules_to_save = {"lm_head", "embed_tokens", "norm"};

  const Trained off = train(options, world());

  EXPECT_NEAR(metric(off, "train_loss")[0], std::numbers::ln2, 1e-9);
  EXPECT_LT(metric(off, "train_loss").back(), 0.65);
  for (const Reference reference : {Reference::copy, Reference::cached}) {
    options.method.preference.reference = reference;
    expect_near(train(options, world()), off, 1e-5);
  }
}

TEST_F(PreferenceRun, TunesAllWeights) {
  RunOptions options = recipe("fp64", TuningMethod::dpo);
  options.optimizer.learning_rate = 1e-4;

  const Trained alone = train(options, Communicator::null()), together = train(options, world());

  expect_near(together, alone, 1e-9);
  EXPECT_LT(metric(alone, "train_loss").back(), 0.68);
  options.method.preference.reference = Reference::cached;
  expect_near(train(options, world()), alone, 1e-5);
}

TEST_F(PreferenceRun, ContinuesBitForBit) {
  for (const TuningMethod method : {TuningMethod::lora_dpo, TuningMethod::dpo})
    for (const Reference reference : {Reference::copy, Reference::cached}) {
      RunOptions options = recipe("fp32", method);
      options.method.preference.reference = reference;
      options.run.keep_checkpoints = 2;
      options.run.checkpoint_every = 5;
      const Trained whole = train(options, world());
      const std::string checkpoint = options.run.output + "/checkpoints/step_00000005";
      options.run.output += "-rest";
      if (world().is_root())  // the start is computed again, and not the model that has been trained
        for (const auto& entry : std::filesystem::directory_iterator(scratch_ / ""))
          if (is_reference_file(entry.path().string())) std::filesystem::remove(entry.path());
      world().barrier();

      TaskRun training(options, "", world(), {Verbosity::quiet, checkpoint});
      training.run(nullptr);

      const NamedTensors state = training.task().model_part().tensors;
      ASSERT_EQ(state.size(), whole.state.size());
      for (std::size_t i = 0; i < state.size(); ++i)
        EXPECT_TRUE(state[i].tensor.equal(whole.state[i].tensor))
            << word_of(method, kMethodWords) << " " << word_of(reference, kReferenceWords) << " " << state[i].name;
    }
}

TEST_F(PreferenceRun, MovesToRanksThatHaveComputedNothingYet) {
  const int all = world().size();
  for (const TuningMethod method : {TuningMethod::lora_dpo, TuningMethod::dpo})
    for (const Reference reference : {Reference::copy, Reference::cached}) {
      RunOptions options = recipe("fp64", method);
      options.method.preference.reference = reference;
      const Trained stays = train(options, world());
      const bool is_alone = all == 1;

      const test::Outcome moved =
          test::move_through(options, {{is_alone ? 1 : all / 2, 3}, {all, 3}, {1, 2}, {all, 2}});

      const std::vector<double>& losses = moved.summary.metrics.at("train_loss").values;
      for (std::size_t i = 0; i < kSteps; ++i)
        EXPECT_NEAR(losses.at(i), metric(stays, "train_loss")[i], 1e-7) << word_of(method, kMethodWords) << i;
    }
}

TEST_F(PreferenceRun, DropsNothingOut) {
  RunOptions options = recipe("fp32");
  options.method.dropout = 0.5;

  expect_oracle(train(options, world()), "float32", 1e-4, 1e-4);
}

TEST_F(PreferenceRun, EvaluatesTestPairs) {
  RunOptions options = recipe("fp32");
  options.data.test = scratch_ / "pairs-*.h5";
  options.evaluate.at_start = true;
  options.evaluate.every_steps = 10;
  for (const Reference reference : {Reference::adapters_off, Reference::cached}) {
    options.method.preference.reference = reference;

    const Trained trained = train(options, world());

    ASSERT_EQ(metric(trained, "eval_loss").size(), 2U);
    EXPECT_NEAR(metric(trained, "eval_loss")[0], std::numbers::ln2, 1e-6);
    EXPECT_EQ(metric(trained, "eval_samples"), (std::vector<double>{40, 40}));
    EXPECT_LT(metric(trained, "eval_loss")[1], 0.67);
    EXPECT_GT(metric(trained, "eval_reward_margin")[1], 0.01);
    EXPECT_NEAR(metric(trained, "eval_reward_margin")[1],
                metric(trained, "eval_reward_chosen")[1] - metric(trained, "eval_reward_rejected")[1], 1e-6);
    EXPECT_GT(metric(trained, "eval_reward_accuracy")[1], 0.7);
  }
}

TEST_F(PreferenceRun, ComputesNoPadding) {
  const Trained trained = train(recipe("fp32"), world());

  const auto& counts = trained.result.record.counts;
  EXPECT_EQ(counts.at("computed_tokens"), counts.at("tokens"));
}

TEST_F(PreferenceRun, RefusesShardsOfTheOtherKind) {
  test::write_oracle_shards(scratch_);
  const auto refusal = [](const RunOptions& options) -> std::string {
    try {
      train(options, world());
    } catch (const Error& error) {
      return error.code() == ExitCode::data ? error.what() : "";
    }
    return "";
  };
  RunOptions pairs = recipe("fp32"), sequences = recipe("fp32", TuningMethod::lora);
  pairs.data.train = scratch_ / "oracle-*.h5";

  EXPECT_NE(refusal(pairs).find("holds no preference pairs"), std::string::npos);
}

}  // namespace
}  // namespace multicard
