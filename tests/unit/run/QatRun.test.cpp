// Tuning with fake quantisation: torchao's losses, whatever the ranks and strategies.
#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "config/Deck.hpp"
#include "support/language_run.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::source_path;
using test::train;
using test::Trained;
using test::world;

std::string qat_oracle(const std::string& file) {
  return source_path("tests/data/oracles/qat/" + file).string();
}

class QatRun : public testing::Test {
 protected:
  QatRun() { test::write_oracle_shards(scratch_, qat_oracle("batches.safetensors")); }

  /// The oracle's recipe.
  RunOptions recipe(const std::string& precision, TuningMethod method) const {
    RunOptions options = test::oracle_recipe(scratch_, precision);
    options.model.adapter.reset();
    options.method.name = method;
    options.method.group_size = 32;
    options.optimizer.learning_rate = 1e-4;
    options.schedule = {};
    return options;
  }

  static std::vector<double> metric(const Trained& trained, const std::string& name) {
    return trained.result.summary.metrics.at(name).values;
  }

  ScratchFolder scratch_;
};

TEST_F(QatRun, FollowsTorchao) {
  const auto oracle = nlohmann::json::parse(read_file(qat_oracle("oracle.json"))).at("run");

  const Trained trained = train(recipe("fp32", TuningMethod::qat), world());

  const std::vector<double> loss = metric(trained, "train_loss"), norm = metric(trained, "grad_norm");
  ASSERT_EQ(loss.size(), 10U);
  EXPECT_NEAR(loss[0], oracle["loss"][0].get<double>(), 4e-3);
  EXPECT_NEAR(norm[0] / oracle["grad_norm"][0].get<double>(), 1, 4e-3);
  for (std::size_t i = 1; i < 10; ++i) {
    EXPECT_NEAR(loss[i], oracle["loss"][i].get<double>(), 0.1) << "rounding makes the run chaotic: step " << i;
    EXPECT_NEAR(norm[i] / oracle["grad_norm"][i].get<double>(), 1, 0.1) << i;
  }
}

// The largest weight of a group lies at 7.5 scales, between two codes: the last bit of a trained weight, and with it
// the order in which ranks add gradients, decides on which of them it falls. Frozen weights stay where they are.
TEST_F(QatRun, AllStrategiesTrainTheSame) {
  for (const TuningMethod method : {TuningMethod::qat, TuningMethod::lora_qat}) {
    RunOptions options = recipe("fp64", method);
    options.method.rank = 4;
    options.method.alpha = 8;
    options.method.rslora = false;
    options.method.targets = {"all-linear"};
    const double after_an_update = method == TuningMethod::qat ? 0.1 : 1e-8;
    const Trained alone = train(options, Communicator::null());
    for (const char* strategy : {"dp", "ddp", "ddp-ds"}) {
      options.parallel.strategy = value_of<StrategyName>(strategy, kStrategyWords).value();
      const Trained together = train(options, world());
      for (const char* name : {"train_loss", "grad_norm"})
        for (std::size_t i = 0; i < 10; ++i)
          EXPECT_NEAR(metric(together, name)[i] / metric(alone, name)[i], 1, i == 0 ? 1e-10 : after_an_update)
              << strategy << " " << name << " " << i;
    }
  }
}

TEST_F(QatRun, StartsToRoundAtItsStep) {
  RunOptions options = recipe("fp32", TuningMethod::full);
  const std::vector<double> plain = metric(train(options, world()), "train_loss");
  options.method.name = TuningMethod::qat;
  options.method.fake_quant_step = 3;

  const std::vector<double> found = metric(train(options, world()), "train_loss");

  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(found[i], plain[i]) << i;
  EXPECT_GT(std::abs(found[3] - plain[3]), 2e-3);
}

TEST_F(QatRun, AdaptersStartFromTheRoundedModelAndLearn) {
  const auto oracle = nlohmann::json::parse(read_file(qat_oracle("oracle.json"))).at("no_update");
  RunOptions options = recipe("fp32", TuningMethod::lora_qat);
  options.method.rank = 8;
  options.method.alpha = 16;
  options.method.rslora = false;
  options.method.targets = {"all-linear"};
  options.optimizer.learning_rate = 1e-2;

  const Trained trained = train(options, world());

  const std::vector<double> loss = metric(trained, "train_loss");
  EXPECT_NEAR(loss[0], oracle[0]["loss"].get<double>(), 4e-3);
  double before = 0, after = 0;
  for (std::size_t i = 5; i < 10; ++i) {
    before += oracle[i]["loss"].get<double>();
    after += loss[i];
  }
  EXPECT_LT(after, before - 0.5);
  for (const NamedTensor& entry : trained.state)
    EXPECT_NE(entry.name.find("lora_"), std::string::npos) << entry.name;
}

RunOptions options_of(const std::string& method) {
  const std::string deck = "task: llm\nmodel: {path: m}\ndata: {train: t.h5}\nmethod: ";
  return read_run_options(Deck::parse(deck + method, "x.yaml"));
}

std::string complaint(const std::string& method) {
  try {
    options_of(method);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(QatOptions, RoundWeightsInGroups) {
  const MethodOptions method = options_of("{name: lora-qat, rank: 4, group_size: 32, fake_quant_step: 7}").method;

  EXPECT_TRUE(method.has_adapters());
  EXPECT_EQ(method.weight_format().kind, WeightFormat::Kind::fake_int4);
  EXPECT_EQ(method.weight_format().group_size, 32);
  EXPECT_EQ(method.fake_quant_step, 7);
  EXPECT_EQ(options_of("{name: qat}").method.weight_format().group_size, 256);
  EXPECT_FALSE(options_of("{name: qat}").method.has_adapters());
  EXPECT_NE(complaint("{name: lora, group_size: 32}").find("belongs to qat and lora-qat"), std::string::npos);
  EXPECT_NE(complaint("{name: qat, rank: 4}").find("method.name is qat"), std::string::npos);
  EXPECT_NE(complaint("{name: qat, fake_quant_step: -1}").find("fake_quant_step"), std::string::npos);
}

}  // namespace
}  // namespace multicard
