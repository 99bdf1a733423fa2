// Tuning a language model from shards: the numbers of PEFT, whatever the ranks, strategies and micro-batches.
#include "base/RegularFile.hpp"
#include "support/language_run.hpp"

namespace multicard {
namespace {

using test::lora_oracle;
using test::oracle_recipe;
using test::ScratchFolder;
using test::train;
using test::Trained;
using test::world;
using test::write_oracle_shards;

class LanguageRun : public testing::Test {
 protected:
  LanguageRun() { write_oracle_shards(scratch_); }

  void expect_oracle(const Trained& trained, const std::string& variant, double loss_tolerance,
                     double norm_tolerance) const {
    const auto oracle = nlohmann::json::parse(read_file(lora_oracle("oracle.json"))).at(variant);
    const auto& metrics = trained.result.summary.metrics;
    const std::vector<double>& loss = metrics.at("train_loss").values;
    const std::vector<double>& norm = metrics.at("grad_norm").values;
    ASSERT_EQ(loss.size(), 20u);
    for (std::size_t i = 0; i < loss.size(); ++i) {
      EXPECT_NEAR(loss[i], oracle["loss"][i].get<double>(), loss_tolerance) << i;
      EXPECT_NEAR(norm[i] / oracle["grad_norm"][i].get<double>(), 1, norm_tolerance) << i;
      EXPECT_NEAR(metrics.at("learning_rate").values[i], oracle["lr"][i].get<double>(), 1e-12) << i;
    }
  }

  static void expect_near(const Trained& trained, const nlohmann::json& oracle, double loss_tolerance,
                          double norm_tolerance) {
    const auto& metrics = trained.result.summary.metrics;
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_NEAR(metrics.at("train_loss").values.at(i), oracle["loss"][i].get<double>(), loss_tolerance) << i;
      EXPECT_NEAR(metrics.at("grad_norm").values.at(i) / oracle["grad_norm"][i].get<double>(), 1, norm_tolerance) << i;
    }
  }

  void expect_final_adapter(const Trained& trained, double tolerance) const {
    const TensorFile final_adapter(lora_oracle("adapter_final/adapter_model.safetensors"));
    ASSERT_EQ(trained.state.size(), final_adapter.file().entries().size());
    for (const NamedTensor& entry : trained.state) {
      const at::Tensor difference = entry.tensor.detach().to(at::kFloat) - final_adapter.view(entry.name);
      EXPECT_LE(difference.abs().max().item<double>(), tolerance) << entry.name;
    }
  }

  ScratchFolder scratch_;
};

TEST_F(LanguageRun, FollowsPeftInFloat32) {
  const Trained trained = train(oracle_recipe(scratch_, "fp32"), world());

  expect_oracle(trained, "float32", 1e-4, 1e-4);
  expect_final_adapter(trained, 1e-4);
}

TEST_F(LanguageRun, FollowsPeftInFloat64) {
  // The oracle's norms and rotary tables are float32 there: 1e-6 is what it is good for.
  expect_oracle(train(oracle_recipe(scratch_, "fp64"), world()), "float64", 5e-6, 5e-6);
}

TEST_F(LanguageRun, FollowsBitsandbytesOnABaseIn4Bits) {
  RunOptions options = oracle_recipe(scratch_, "fp32");
  options.method.name = TuningMethod::qlora;

  const Trained trained = train(options, world());

  const std::string oracle = test::source_path("tests/data/oracles/nf4/oracle.json");
  expect_near(trained, nlohmann::json::parse(read_file(oracle))["qlora_bnb_float32"], 1e-4, 1e-4);
}

TEST_F(LanguageRun, AccumulatesByTokensAndNotByMicroBatches) {
  RunOptions options = oracle_recipe(scratch_, "fp32");
  options.run.micro_batch = 1;

  const Trained trained = train(options, world());

  expect_oracle(trained, "float32_accumulate_2x2", 1e-4, 1e-4);
  expect_final_adapter(trained, 1e-4);
}

TEST_F(LanguageRun, ClipsAsPeftDoes) {
  RunOptions options = oracle_recipe(scratch_, "fp32");
  options.optimizer.clip_norm = 0.3;

  expect_oracle(train(options, world()), "float32_clip_0.3", 1e-4, 1e-4);
}

TEST_F(LanguageRun, AllStrategiesTrainTheSame) {
  RunOptions options = oracle_recipe(scratch_, "fp64");
  const Trained alone = train(options, Communicator::null());
  for (const char* strategy : {"dp", "ddp", "ddp-ds"}) {
    options.parallel.strategy = value_of<StrategyName>(strategy, kStrategyWords).value();
    const Trained together = train(options, world());
    for (const char* metric : {"train_loss", "grad_norm"})
      for (std::size_t i = 0; i < 20; ++i) {
        const double expected = alone.result.summary.metrics.at(metric).values[i];
        EXPECT_NEAR(together.result.summary.metrics.at(metric).values[i], expected, 1e-10 * (1 + expected))
            << strategy << " " << metric << " " << i;
      }
    for (std::size_t i = 0; i < alone.state.size(); ++i)
      EXPECT_LE((together.state[i].tensor - alone.state[i].tensor).norm().item<double>(), 1e-9) << strategy;
  }
}

TEST_F(LanguageRun, FollowsPeftWithAdaptersInBfloat16) {
  RunOptions options = oracle_recipe(scratch_, "fp32");
  options.model.trainable_dtype = WeightDtype::bf16;

  const Trained trained = train(options, world());

  // PEFT computes the adapters' products in bfloat16, too.
  expect_near(trained, nlohmann::json::parse(read_file(lora_oracle("bfloat16.json")))["lora"], 5e-3, 1e-2);
  // How far training moved the adapter, and how far the two lie apart.
  const TensorFile start(lora_oracle("adapter_init/adapter_model.safetensors"));
  const TensorFile end(lora_oracle("adapter_final_bfloat16.safetensors"));
  double moved = 0, apart = 0;
  for (const NamedTensor& entry : trained.state) {
    ASSERT_EQ(entry.tensor.scalar_type(), at::kBFloat16) << entry.name;
    const at::Tensor expected = end.view(entry.name).to(at::kFloat);
    moved += (expected - start.view(entry.name)).square().sum().item<double>();
    apart += (expected - entry.tensor.detach().to(at::kFloat)).square().sum().item<double>();
  }
  EXPECT_LE(std::sqrt(apart / moved), 0.2);
}

TEST_F(LanguageRun, FollowsTransformersWithAllWeightsInBfloat16) {
  RunOptions options = oracle_recipe(scratch_, "bf16");
  options.model.adapter.reset();
  options.model.trainable_dtype = WeightDtype::bf16;
  options.method.name = TuningMethod::full;
  options.optimizer.learning_rate = 1e-4;

  const Trained trained = train(options, world());

  expect_near(trained, nlohmann::json::parse(read_file(lora_oracle("bfloat16.json")))["full"], 5e-2, 5e-2);
}

TEST_F(LanguageRun, TrainsAdaptersInBfloat16AsInFloat32InHalfTheMemory) {
  RunOptions options = oracle_recipe(scratch_, "fp32");
  const Trained wide = train(options, world());
  options.model.trainable_dtype = WeightDtype::bf16;

  const Trained narrow = train(options, world());

  const auto& a = wide.result.summary.metrics.at("train_loss").values;
  const auto& b = narrow.result.summary.metrics.at("train_loss").values;
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(b[i], a[i], 5e-3) << i;
  const auto& full = wide.result.record;
  const auto& half = narrow.result.record;
  for (const char* what : {"model/parameters", "model/gradients"})
    EXPECT_EQ(2 * half.memory.at(what), full.memory.at(what)) << what;
  constexpr std::int64_t kStepBytes = 4;  // the number of updates stays float32
  EXPECT_EQ(2 * (half.memory.at("model/optimizer") - kStepBytes), full.memory.at("model/optimizer") - kStepBytes);
  const auto exchanged = [](const RankRecord& record) { return record.communication.at("all_reduce").payload_bytes; };
  EXPECT_LT(static_cast<double>(exchanged(half)), 0.51 * static_cast<double>(exchanged(full)));
}

TEST_F(LanguageRun, TrainsInBfloat16TheSameOnAllRanksAndStrategies) {
  RunOptions options = oracle_recipe(scratch_, "fp32");
  options.model.trainable_dtype = WeightDtype::bf16;
  const Trained alone = train(options, Communicator::null());
  const auto& expected = alone.result.summary.metrics.at("train_loss").values;
  for (const char* strategy : {"dp", "ddp-ds"}) {
    options.parallel.strategy = value_of<StrategyName>(strategy, kStrategyWords).value();
    const Trained together = train(options, world());
    for (std::size_t i = 0; i < 20; ++i)
      EXPECT_NEAR(together.result.summary.metrics.at("train_loss").values[i], expected[i], 1e-2) << strategy << i;
    const NamedTensor& last = together.state.back();
    const at::Tensor of_root = last.tensor.detach().to(at::kFloat).contiguous();
    world().broadcast(std::span(of_root.data_ptr<float>(), static_cast<std::size_t>(of_root.numel())));
    EXPECT_TRUE(of_root.equal(last.tensor.detach().to(at::kFloat))) << strategy;
  }
}

TEST_F(LanguageRun, ContinuesInBfloat16BitForBit) {
  for (const char* method : {"lora", "full"}) {
    RunOptions options = oracle_recipe(scratch_, "bf16");
    options.model.trainable_dtype = WeightDtype::bf16;
    options.method.name = value_of<TuningMethod>(method, kMethodWords).value();
    if (options.method.name == TuningMethod::full) options.model.adapter.reset();
    options.run.keep_checkpoints = 2;
    options.run.checkpoint_every = 7;
    options.run.output = scratch_ / (std::string("whole-") + method);
    const Trained whole = train(options, world());
    const std::string checkpoint = options.run.output + "/checkpoints/step_00000014";
    options.run.output = scratch_ / (std::string("rest-") + method);

    TaskRun training(options, "", world(), {Verbosity::quiet, checkpoint});
    training.run(nullptr);

    const NamedTensors state = training.task().model_part().tensors;
    ASSERT_EQ(state.size(), whole.state.size());
    for (std::size_t i = 0; i < state.size(); ++i)
      EXPECT_TRUE(state[i].tensor.equal(whole.state[i].tensor)) << method << " " << state[i].name;
    const TensorFile file(checkpoint + "/" + (options.method.name == TuningMethod::full ? "model" : "adapter_model") +
                          ".safetensors");
    for (const NamedTensor& entry : state)
      EXPECT_EQ(file.view(entry.name).scalar_type(), at::kBFloat16) << entry.name;
  }
}

TEST_F(LanguageRun, KeepsTextsInMemoryWithoutChangingTheTraining) {
  RunOptions options = oracle_recipe(scratch_, "fp32");
  options.run.steps = 40;  // two epochs
  const Trained read = train(options, world());
  options.data.reading.keep = KeepRows::in_memory;

  const Trained kept = train(options, world());

  EXPECT_EQ(kept.result.summary.metrics.at("train_loss").values, read.result.summary.metrics.at("train_loss").values);
}

TEST_F(LanguageRun, PacksWithoutChangingTheEvaluation) {
  RunOptions options = oracle_recipe(scratch_, "fp64");
  options.data.test = scratch_ / "oracle-*.h5";
  options.evaluate.at_start = true;
  options.run.steps = 1;
  const Trained plain = train(options, world());
  options.data.packing = true;
  options.data.max_length = 256;

  const Trained packed = train(options, world());

  const auto& a = plain.result.summary.metrics.at("eval_loss").values;
  const auto& b = packed.result.summary.metrics.at("eval_loss").values;
  EXPECT_NEAR(a.front(), b.front(), 1e-10);
}

TEST_F(LanguageRun, CountsTokens) {
  RunOptions options = oracle_recipe(scratch_, "fp32");
  options.run.micro_batch = 1;

  const Trained trained = train(options, world());

  const auto& counts = trained.result.record.counts;
  std::array<std::int64_t, 3> sums{};
  for (std::size_t i = 0; i < 20; ++i) {
    sums[0] += counts.at("tokens")[i];
    sums[1] += counts.at("trained_tokens")[i];
    sums[2] += counts.at("computed_tokens")[i];
  }
  world().allreduce(std::span<std::int64_t>(sums), ReduceOp::sum);
  const auto oracle = nlohmann::json::parse(read_file(lora_oracle("oracle.json"))).at("float32");
  std::int64_t valid = 0;
  for (const auto& count : oracle["valid_tokens"])
    valid += count.get<std::int64_t>();
  EXPECT_EQ(sums[1], valid);
  EXPECT_EQ(sums[0], sums[2]);  // a row at a time is never padded
  EXPECT_EQ(trained.result.summary.metrics.at("tokens_per_s").values.size(), 20u);
}

TEST_F(LanguageRun, TunesAllWeights) {
  RunOptions options = oracle_recipe(scratch_, "fp64");
  options.model.adapter.reset();
  options.method.name = TuningMethod::full;
  options.optimizer.learning_rate = 1e-4;

  const Trained alone = train(options, Communicator::null()), together = train(options, world());

  const auto& a = alone.result.summary.metrics.at("train_loss").values;
  const auto& b = together.result.summary.metrics.at("train_loss").values;
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-9) << i;
  EXPECT_EQ(alone.state.size(), 20u);  // 2 layers of 9 tensors, embedding, norm
}

TEST_F(LanguageRun, RefusesTokensThatTheModelDoesNotHave) {
  if (world().is_root()) {
    std::ofstream out(scratch_ / "foreign.jsonl");
    out << R"({"input_ids": [1, 2, 4000], "labels": [-100, 2, 4000]})"
        << "\n";
  }
  world().barrier();
  TextPrepareOptions prepare;
  prepare.type = DatasetType::tokens;
  prepare.inputs = {scratch_ / "foreign.jsonl"};
  prepare.output = scratch_ / "foreign";
  prepare.quiet = true;
  prepare_text(prepare, world());
  RunOptions options = oracle_recipe(scratch_, "fp32");
  options.data.train = scratch_ / "foreign-*.h5";

  EXPECT_THROW(train(options, world()), Error);
}

}  // namespace
}  // namespace multicard
