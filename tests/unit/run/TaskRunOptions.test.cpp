// Options that may change how fast a run is, and nothing that it computes; and precisions.
#include <functional>

#include "state/TensorFile.hpp"
#include "support/task_run.hpp"

namespace multicard {
namespace {

using test::expect_same;
using test::ScratchFolder;
using test::train;
using test::Trained;
using test::trained_start;
using test::world;
using test::write_shards;

class TaskRunOptionsTest : public testing::Test {
 protected:
  void SetUp() override {
    write_shards(scratch_);
    options_ = trained_start(scratch_);
    options_.model.freeze_batch_norm = true;
    options_.data.augment.horizontal_flip = 0.5;
    options_.data.augment.crop = {.scale_min = 0.3, .scale_max = 1};
    options_.run.epochs = 1;
  }

  ScratchFolder scratch_;
  RunOptions options_;
};

TEST_F(TaskRunOptionsTest, NoWayOfReadingOrSharingChangesWhatIsComputed) {
  const Trained plain = train(options_, world());
  const std::pair<const char*, std::function<void(RunOptions&)>> changes[] = {
      {"dp", [](RunOptions& options) { options.parallel.strategy = StrategyName::dp; }},
      {"ddp", [](RunOptions& options) { options.parallel.strategy = StrategyName::ddp; }},
      {"device", [](RunOptions& options) { options.data.pipeline = InputPipeline::device; }},
      {"ddp device",
       [](RunOptions& options) {
         options.parallel.strategy = StrategyName::ddp;
         options.data.pipeline = InputPipeline::device;
       }},
      {"dp device",
       [](RunOptions& options) {
         options.parallel.strategy = StrategyName::dp;
         options.data.pipeline = InputPipeline::device;
       }},
      {"pread", [](RunOptions& options) { options.data.reading.method = ReadMethod::pread; }},
      {"ram", [](RunOptions& options) { options.data.reading.keep = KeepRows::in_memory; }},
      {"no workers", [](RunOptions& options) { options.data.workers = 0; }},
  };
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    RunOptions changed = options_;
    change(changed);

    expect_same(train(changed, world()), plain, 1e-12);
  }
}

TEST_F(TaskRunOptionsTest, ADifferentSeedAugmentsDifferently) {
  const Trained one = train(options_, world());
  options_.run.seed = 2;
  const Trained other = train(options_, world());

  EXPECT_NE(one.result.summary.metrics.at("train_loss").values, other.result.summary.metrics.at("train_loss").values);
}

TEST_F(TaskRunOptionsTest, LowerPrecisionsComputeNearlyTheSame) {
  options_.precision = Precision::fp32;
  const std::vector<double> exact = train(options_, world()).result.summary.metrics.at("train_loss").values;
  for (const Precision precision : {Precision::bf16, Precision::fp16}) {
    SCOPED_TRACE(word_of(precision, kPrecisionWords));
    options_.precision = precision;
    const Trained trained = train(options_, world());

    const auto& losses = trained.result.summary.metrics.at("train_loss").values;
    ASSERT_EQ(losses.size(), exact.size());
    EXPECT_NEAR(losses[0], exact[0], 0.05 * exact[0]);
    EXPECT_NE(losses[0], exact[0]);
    for (const NamedTensor& tensor : trained.state)
      EXPECT_TRUE(tensor.tensor.scalar_type() == at::kFloat || tensor.tensor.scalar_type() == at::kLong);
  }
}

TEST_F(TaskRunOptionsTest, Float16RecordsItsScale) {
  options_.precision = Precision::fp16;
  const auto metrics = train(options_, world()).result.summary.metrics;

  ASSERT_EQ(metrics.at("loss_scale").values.size(), metrics.at("train_loss").values.size());
  EXPECT_EQ(metrics.at("loss_scale").values.front(), 65536.0);
  double scale = 65536;
  for (std::size_t step = 0; step < metrics.at("skipped").values.size(); ++step) {
    EXPECT_EQ(metrics.at("loss_scale").values[step], scale);
    if (metrics.at("skipped").values[step] > 0) scale /= 2;
  }
}

TEST_F(TaskRunOptionsTest, TheAverageOfWeightsIsWhatIsEvaluated) {
  const Trained plain = train(options_, world());
  options_.run.ema_decay = 0.99;
  const Trained averaged = train(options_, world());

  EXPECT_EQ(plain.result.summary.metrics.at("train_loss").values,
            averaged.result.summary.metrics.at("train_loss").values);
  EXPECT_NE(plain.result.summary.metrics.at("eval_loss").values,
            averaged.result.summary.metrics.at("eval_loss").values);
}

TEST_F(TaskRunOptionsTest, FrozenParametersStayAsTheyWere) {
  options_.model.freeze = {"features.*"};
  const Trained trained = train(options_, world());
  const TensorFile start(*options_.model.weights);

  for (const NamedTensor& entry : trained.state) {
    if (!entry.tensor.is_floating_point()) continue;
    const at::Tensor before = start.load(entry.name).to(entry.tensor.scalar_type());
    const bool same = entry.tensor.detach().equal(before);
    EXPECT_EQ(same, entry.name.starts_with("features.")) << entry.name;
  }
}

TEST_F(TaskRunOptionsTest, WeightsForOtherClassesLeaveTheClassifierNew) {
  options_.model.classes = 17;  // the file has 10
  const Trained trained = train(options_, world());

  EXPECT_EQ(trained.result.summary.status, "complete");
}

TEST_F(TaskRunOptionsTest, RefusesWhatACpuCannotDo) {
  options_.precision = Precision::tf32;
  EXPECT_THROW(train(options_, world()), Error);
}

}  // namespace
}  // namespace multicard
