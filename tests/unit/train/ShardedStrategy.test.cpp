// Ranks that share the optimizer's state against ranks that each have all of it.
#include <map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "device/StepClock.hpp"
#include "linear_model.hpp"
#include "nn/layers/Random.hpp"
#include "support/test_world.hpp"
#include "train/LossScaler.hpp"
#include "train/Strategy.hpp"

namespace multicard {
namespace {

using test::LinearData;
using test::world;

/// Parameters of many sizes: below and above a cut, a matrix, rows of a larger tensor, images' weights in
/// channels_last.
class ManyParameters final : public Model {
 public:
  ManyParameters(at::ScalarType type, at::MemoryFormat format) : rows_(values({40, 160}, type, 1)) {
    add("block.0.norm.weight", values({33}, type, 2));
    add("block.0.matrix.weight", values({70, 131}, type, 3));
    add("block.0.first.weight", rows_.narrow(0, 0, 15));
    add("block.0.second.weight", rows_.narrow(0, 15, 25));
    add("block.1.bias", values({257}, type, 4));
    add("block.1.conv.weight", values({24, 5, 3, 3}, type, 5).contiguous(format));
    add("block.1.large.weight", values({300, 250}, type, 6));
    add("head.bias", values({1}, type, 7));
  }

  std::vector<NamedTensor> parameters() const override { return parameters_; }
  std::vector<NamedTensor> buffers() const override { return {}; }
  bool runs_on_empty_batch() const override { return false; }
  void begin_step(std::int64_t step, int replica) override { seed_ = 100 * step + replica; }
  /// Its gradients are random, another one each on every rank and in every step.
  Loss forward(const Batch&) override {
    at::Tensor loss = at::zeros({}, at::kDouble);
    std::uint64_t stream = 0;
    for (const NamedTensor& parameter : parameters_)
      loss = loss + (parameter.tensor.to(at::kDouble) *
                     normal_values(parameter.tensor.sizes(), 1, static_cast<std::uint64_t>(seed_), stream++))
                        .sum();
    if (overflows) loss = loss + parameters_[6].tensor[299][1].to(at::kDouble) * 1e300;
    return {loss};
  }
  Evaluation evaluate(DataSource&, const Communicator&) override { return {}; }

  bool overflows = false;  ///< an element of the last gradient but one is not finite

 private:
  static at::Tensor values(at::IntArrayRef sizes, at::ScalarType type, std::uint64_t stream) {
    return normal_values(sizes, 1, 9, stream).to(type);
  }
  void add(const std::string& name, const at::Tensor& tensor) {
    parameters_.push_back({name, tensor.detach().requires_grad_(true)});
  }

  at::Tensor rows_;
  NamedTensors parameters_;
  std::int64_t seed_ = 0;
};

struct Case {
  const char* name;
  OptimizerName optimizer;
  at::ScalarType type;
  double bucket_mb = 0.05;  ///< several buckets
  CommDtype gradients = CommDtype::same;
  at::MemoryFormat format = at::MemoryFormat::ChannelsLast;
};

constexpr Case kCases[] = {
    {"AdamwDouble", OptimizerName::adamw, at::kDouble},
    {"AdamwFloatOneBucket", OptimizerName::adamw, at::kFloat, 100},
    {"AdamwBFloat16", OptimizerName::adamw, at::kBFloat16},
    {"AdamwGradientsInBf16", OptimizerName::adamw, at::kFloat, 0.05, CommDtype::bf16},
    {"SgdDouble", OptimizerName::sgd, at::kDouble},
    {"Adamw8bit", OptimizerName::adamw8bit, at::kFloat, 0.05, CommDtype::same, at::MemoryFormat::Contiguous},
};

struct Training {
  Training(const Case& test, Shard shard)
      : model(test.type, test.format),
        collectives(make_collectives(Backend::automatic, world(), at::kCPU)),
        clock(at::kCPU) {
    ParallelOptions parallel;
    parallel.shard = shard;
    parallel.bucket_mb = test.bucket_mb;
    parallel.gradient_dtype = test.gradients;
    OptimizerOptions optimizer;
    optimizer.name = test.optimizer;
    optimizer.momentum = 0.9;
    optimizer.weight_decay = 0.1;
    strategy = make_strategy(parallel, optimizer, {model, data, *collectives});
    strategy->synchronise();
  }

  /// One step. \return what rank 0 has put into its status
  at::Tensor statuses(std::int64_t number, const LossScaler* scaler = nullptr) {
    strategy->begin_step(number);
    const StepStatus status(at::kCPU);
    const at::Tensor loss = model.forward({}).value;
    strategy->backward(scaler ? scaler->scale(loss) : loss, /*is_last=*/true);
    strategy->finish_gradients();
    strategy->prepare_update(scaler, status);
    strategy->apply_update(0.01);
    strategy->share_parameters();
    broadcast_tensors({status.values()}, *collectives);
    return status.values();
  }
  /// \return the norm of the gradient
  double step(std::int64_t number) { return statuses(number)[StepStatus::kGradientNorm].item<double>(); }

  LinearData data{40, 8};
  ManyParameters model;
  std::unique_ptr<TensorCollectives> collectives;
  StepClock clock;
  std::unique_ptr<Strategy> strategy;
};

void expect_same(const NamedTensors& got, const NamedTensors& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].name, wanted[i].name);
    EXPECT_TRUE(at::equal(got[i].tensor, wanted[i].tensor)) << got[i].name;
  }
}

/// Collective. Of all ranks together they are all elements but those of states of all parameters.
void expect_pieces_of(const NamedTensors& whole, const std::vector<TensorPiece>& pieces) {
  std::int64_t num_elements = 0, num_wanted = 0;
  std::map<std::string, at::Tensor> by_name;
  for (const auto& [name, tensor] : whole) {
    by_name[name] = tensor;
    if (name.find('.') != std::string::npos) num_wanted += tensor.numel();
  }
  for (const auto& [name, first, values] : pieces) {
    EXPECT_TRUE(at::equal(values, by_name.at(name).reshape({-1}).narrow(0, first, values.numel()))) << name;
    num_elements += values.numel();
  }
  EXPECT_EQ(world().allreduce(num_elements, ReduceOp::sum), num_wanted);
}

class ShardedState : public testing::TestWithParam<Case> {};

TEST_P(ShardedState, GivesTheBitsOfWholeState) {
  Training whole(GetParam(), Shard::none), sharded(GetParam(), Shard::optimizer);

  for (std::int64_t number = 0; number < 4; ++number) {
    const double norm = whole.step(number);
    EXPECT_NEAR(sharded.step(number), norm, 1e-12 * norm);
  }

  expect_same(sharded.model.parameters(), whole.model.parameters());
  sharded.strategy->prepare_to_write();
  const NamedTensors state = sharded.strategy->optimizer_state();
  if (sharded.strategy->writes_pieces())
    expect_pieces_of(whole.strategy->optimizer_state(), sharded.strategy->state_pieces());
  else if (world().is_root())
    expect_same(state, whole.strategy->optimizer_state());
  for (std::size_t i = 0; !world().is_root() && i < state.size(); ++i)
    EXPECT_EQ(state[i].tensor.sizes(), whole.strategy->optimizer_state()[i].tensor.sizes());
}

/// An element of one rank's gradient, which after the sum is in one rank's part.
TEST(ShardedStrategy, LeavesAnUpdateOutOnAllRanksWhereOneRankOverflows) {
  Training whole(kCases[1], Shard::none), sharded(kCases[1], Shard::optimizer);
  const LossScaler scaler(at::kCPU);
  for (std::int64_t number = 0; number < 3; ++number) {
    const bool overflows = number == 1;
    for (Training* training : {&whole, &sharded}) {
      training->model.overflows = overflows && world().rank() == world().size() - 1;
      const at::Tensor before = training->model.parameters()[6].tensor.detach().clone();

      const at::Tensor status = training->statuses(number, &scaler);

      EXPECT_EQ(status[StepStatus::kFoundInf].item<double>() > 0, overflows);
      EXPECT_EQ(at::equal(training->model.parameters()[6].tensor, before), overflows);
    }
  }
  expect_same(sharded.model.parameters(), whole.model.parameters());
}

TEST_P(ShardedState, IsTakenFromWholeState) {
  Training whole(GetParam(), Shard::none);
  whole.step(0);
  Training sharded(GetParam(), Shard::optimizer);
  {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < sharded.model.parameters().size(); ++i)
      at::Tensor(sharded.model.parameters()[i].tensor).copy_(whole.model.parameters()[i].tensor);
  }
  NamedTensors state = whole.strategy->optimizer_state();
  for (NamedTensor& entry : state)  // as a file has them
    entry.tensor = entry.tensor.contiguous();

  sharded.strategy->load_optimizer_state(state);

  whole.step(1);
  sharded.step(1);
  expect_same(sharded.model.parameters(), whole.model.parameters());
}

TEST_P(ShardedState, IsAPartOnEachRank) {
  const Training whole(GetParam(), Shard::none), sharded(GetParam(), Shard::optimizer);
  const std::int64_t all = whole.strategy->optimizer_bytes(), own = sharded.strategy->optimizer_bytes();

  EXPECT_GE(world().allreduce(own, ReduceOp::sum), all);
  // Parameters begin, and buckets end, at a cut of 256 elements; what is between them may be another rank's.
  const auto gaps = static_cast<std::int64_t>(sharded.model.parameters().size() + sharded.strategy->num_buckets());
  EXPECT_LE(own, all / world().size() + gaps * 256 * 16);
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Of, ShardedState, testing::ValuesIn(kCases), name_of);

}  // namespace
}  // namespace multicard
