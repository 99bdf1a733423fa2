#include "dist/GradientReducer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "dist/BucketPlan.hpp"
#include "small_net.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::expect_near;
using test::made;
using test::Net;
using test::reference;
using test::world;

struct Case {
  std::optional<double> bucket_mb;
  Overlap overlap;
  at::ScalarType type;
};

class GradientSums : public testing::TestWithParam<Case> {};

TEST_P(GradientSums, EqualTheGradientOfTheWholeBatch) {
  const Case& with = GetParam();
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  Net net(with.type);
  GradientReducer reducer(net.parameters, *collectives, {{with.bucket_mb}, with.overlap});
  const std::int64_t rows = 3 * world().size();

  for (int step = 0; step < 3; ++step) {
    reducer.zero();
    // Two micro-batches of 1 and 2 rows; only the last one is armed.
    net.loss(3 * world().rank(), 1, rows).backward();
    reducer.arm();
    net.loss(3 * world().rank() + 1, 2, rows).backward();
    reducer.finish();

    expect_near(reducer.gradients(), reference(with.type, rows), with.type == at::kDouble ? 1e-13 : 2e-6);
  }
}

TEST(GradientReducer, CutsBucketsAnewBetweenSteps) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  Net net(at::kFloat);
  GradientReducer reducer(net.parameters, *collectives, {{0.002}, Overlap::yes});
  const std::vector<at::Tensor> views = reducer.gradients();
  const std::size_t num_buckets = reducer.num_buckets();
  const std::int64_t rows = 3 * world().size();
  const auto expected = reference(at::kFloat, rows);

  const std::pair<ExchangeSetting, double> settings[] = {
      {{}, 2e-6}, {{0.0001, CommDtype::same}, 2e-6}, {{0.002, CommDtype::bf16}, 0.02}, {{0.002}, 2e-6}};
  for (const auto& [setting, tolerance] : settings) {
    reducer.set(setting);
    reducer.zero();
    reducer.arm();
    EXPECT_THROW(reducer.set({}), std::logic_error);
    net.loss(3 * world().rank(), 3, rows).backward();
    reducer.finish();
    expect_near(reducer.gradients(), expected, tolerance);
    for (std::size_t i = 0; i < views.size(); ++i)
      EXPECT_TRUE(reducer.gradients()[i].is_same(views[i])) << "optimizers hold these";
  }
  EXPECT_EQ(reducer.num_buckets(), num_buckets);
}

/// Gradients of this rank summed over ranks parameter by parameter.
std::vector<at::Tensor> unbucketed(at::ScalarType type, std::int64_t rows, TensorCollectives& collectives) {
  Net net(type);
  net.loss(3 * world().rank(), 3, rows).backward();
  std::vector<at::Tensor> sums;
  for (const at::Tensor& parameter : net.parameters) {
    at::Tensor sum =
        parameter.grad().defined() ? parameter.grad().contiguous() : at::zeros_like(parameter).contiguous();
    collectives.all_reduce(sum.view({-1}));
    sums.push_back(sum);
  }
  return sums;
}

TEST_P(GradientSums, EqualUnbucketedSums) {
  const Case& with = GetParam();
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const std::int64_t rows = 3 * world().size();
  const std::vector<at::Tensor> expected = unbucketed(with.type, rows, *collectives);
  Net net(with.type);
  GradientReducer reducer(net.parameters, *collectives, {{with.bucket_mb}, with.overlap});

  reducer.zero();
  reducer.arm();
  net.loss(3 * world().rank(), 3, rows).backward();
  reducer.finish();

  expect_near(reducer.gradients(), expected, 1e-7);
}

INSTANTIATE_TEST_SUITE_P(BucketSizes, GradientSums,
                         testing::Values(Case{std::nullopt, Overlap::yes, at::kFloat},
                                         Case{0.000001, Overlap::yes, at::kFloat},
                                         Case{0.002, Overlap::yes, at::kFloat}, Case{0.002, Overlap::no, at::kFloat},
                                         Case{0.02, Overlap::yes, at::kDouble}, Case{1e6, Overlap::no, at::kDouble}));

/// Parameters whose gradients are exactly this rank's test::values.
struct Products {
  explicit Products(at::ScalarType type) {
    for (int i = 0; i < 7; ++i)
      parameters.push_back(made({i == 3 ? 30000 : 100 + i}, i, type).requires_grad_());
  }
  at::Tensor loss() const {
    at::Tensor sum = made({1}, 0, at::kFloat);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const at::Tensor& parameter = parameters[i];
      const at::Tensor factors = test::values<float>(parameter.numel(), world().rank(), static_cast<int>(i));
      sum = sum + (parameter * factors.to(parameter.scalar_type())).sum();
    }
    return sum;
  }
  std::vector<at::Tensor> parameters;
};

std::vector<std::vector<int>> one_node() {
  std::vector<int> ranks;
  for (int rank = 0; rank < world().size(); ++rank)
    ranks.push_back(rank);
  return {ranks};
}

struct Exchange {
  CommDtype comm_dtype;
  Overlap overlap;
  Destination destination;
  at::ScalarType type = at::kFloat;
};

class GradientExchange : public testing::TestWithParam<Exchange> {};

TEST_P(GradientExchange, GivesItsDestinationTheSumsBitForBit) {
  const auto [comm_dtype, overlap, destination, type] = GetParam();
  const CommDtype rounding = type == at::kBFloat16 ? CommDtype::bf16 : comm_dtype;
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  Products products(type);
  GradientReducer reducer(products.parameters, *collectives, {{0.0006, comm_dtype}, overlap, destination});
  ASSERT_GT(reducer.num_buckets(), 3U);

  for (int step = 0; step < 3; ++step) {
    reducer.zero();
    reducer.arm();
    products.loss().backward();
    reducer.finish();

    if (destination == Destination::root && world().rank() > 0) continue;
    for (std::size_t i = 0; i < products.parameters.size(); ++i)
      EXPECT_EQ(
          test::first_wrong(
              reducer.gradients()[i].to(at::kFloat), one_node(),
              [&](int rank, std::int64_t j) { return test::value_of<float>(rank, j, static_cast<int>(i)); }, rounding),
          -1)
          << "gradient " << i << " in step " << step;
  }
  const CommunicationTotals totals =
      collectives->totals().at(destination == Destination::root ? "reduce" : "all_reduce");
  EXPECT_EQ(totals.calls, 3 * static_cast<std::int64_t>(reducer.num_buckets()));
  EXPECT_EQ(totals.payload_bytes, 3 * reducer.flats()[0].numel() * (rounding == CommDtype::same ? 4 : 2));
}

INSTANTIATE_TEST_SUITE_P(Ways, GradientExchange,
                         testing::Values(Exchange{CommDtype::same, Overlap::no, Destination::root},
                                         Exchange{CommDtype::same, Overlap::yes, Destination::root},
                                         Exchange{CommDtype::bf16, Overlap::no, Destination::all},
                                         Exchange{CommDtype::bf16, Overlap::yes, Destination::all},
                                         Exchange{CommDtype::fp16, Overlap::yes, Destination::all},
                                         Exchange{CommDtype::bf16, Overlap::no, Destination::root},
                                         Exchange{CommDtype::same, Overlap::yes, Destination::all, at::kBFloat16},
                                         Exchange{CommDtype::bf16, Overlap::yes, Destination::all, at::kBFloat16},
                                         Exchange{CommDtype::same, Overlap::no, Destination::root, at::kBFloat16}));

TEST(GradientReducer, RefusesOnAllRanksWhatHasNoSixteenBitCommDtype) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const at::Tensor single = made({10}, 1, at::kFloat).requires_grad_();
  const at::Tensor twice = made({10}, 2, at::kDouble).requires_grad_();
  const at::Tensor half = made({10}, 2, at::kBFloat16).requires_grad_();
  for (const auto& [other, comm_dtype] : {std::pair{twice, CommDtype::bf16}, {half, CommDtype::fp16}})
    try {
      GradientReducer({single, other}, *collectives, {{std::nullopt, comm_dtype}, Overlap::yes});
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_EQ(error.scope(), Scope::all_ranks);
    }
}

TEST(GradientReducer, KeepsGradientsViewsOfItsBuffersWithTheParametersStrides) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  Net net(at::kFloat);
  GradientReducer reducer(net.parameters, *collectives, {{0.002}, Overlap::yes});

  reducer.zero();
  reducer.arm();
  net.loss(0, 2, 2).backward();
  reducer.finish();

  ASSERT_EQ(reducer.flats().size(), 1U);
  EXPECT_GT(reducer.num_buckets(), 2U);
  for (std::size_t i = 0; i < net.parameters.size(); ++i) {
    EXPECT_TRUE(net.parameters[i].grad().is_alias_of(reducer.flats()[0])) << i;
    EXPECT_EQ(net.parameters[i].grad().data_ptr(), reducer.gradients()[i].data_ptr()) << i;
    EXPECT_EQ(net.parameters[i].grad().strides(), net.parameters[i].strides()) << i;
  }
  double squares = 0;
  for (const at::Tensor& gradient : reducer.gradients())
    squares += (gradient * gradient).sum().item<double>();
  EXPECT_NEAR((reducer.flats()[0] * reducer.flats()[0]).sum().item<double>(), squares, 1e-5 * squares);
}

TEST(GradientReducer, GivesAllRanksTheSameBits) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  Net net(at::kFloat);
  GradientReducer reducer(net.parameters, *collectives, {{0.01}, Overlap::yes});
  const std::int64_t rows = 2 * world().size();

  reducer.zero();
  reducer.arm();
  net.loss(2 * world().rank(), 2, rows).backward();
  reducer.finish();

  const at::Tensor flat = reducer.flats()[0].clone();
  collectives->broadcast({flat}, 0);
  EXPECT_TRUE(at::equal(flat, reducer.flats()[0]));
}

TEST(GradientReducer, RanksWithoutRowsJoin) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  Net net(at::kFloat);
  GradientReducer reducer(net.parameters, *collectives, {{0.002}, Overlap::yes});

  for (int step = 0; step < 3; ++step) {
    reducer.zero();
    reducer.arm();
    if (world().rank() == step % world().size()) net.loss(0, 4, 4).backward();
    reducer.finish();

    expect_near(reducer.gradients(), reference(at::kFloat, 4), 1e-6);
  }
}

TEST(GradientReducer, OrderOfBackwardMayDifferBetweenRanks) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  std::vector<at::Tensor> parameters;
  for (int i = 0; i < 6; ++i)
    parameters.push_back(made({50 + i}, i, at::kFloat).requires_grad_());
  GradientReducer reducer(parameters, *collectives, {{0.0003}, Overlap::yes});
  ASSERT_EQ(reducer.num_buckets(), 6U);

  reducer.zero();
  reducer.arm();
  // A chain: the gradient of the last factor multiplied comes first. Each rank starts it elsewhere.
  at::Tensor product = made({1}, 30, at::kFloat);
  for (int i = 0; i < 6; ++i)
    product = product * parameters[static_cast<std::size_t>((i + world().rank()) % 6)].sum();
  product.backward();
  reducer.finish();

  for (std::size_t i = 0; i < 6; ++i) {
    float expected = made({1}, 30, at::kFloat).item<float>() * static_cast<float>(world().size());
    for (std::size_t j = 0; j < 6; ++j)
      if (j != i) expected *= parameters[j].sum().item<float>();
    EXPECT_NEAR(parameters[i].grad()[0].item<float>(), expected, 1e-4 * std::abs(expected) + 1e-7) << i;
  }
}

TEST(GradientReducer, TakesMixedTypes) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const at::Tensor single = made({100}, 1, at::kFloat).requires_grad_();
  const at::Tensor twice = made({100}, 2, at::kDouble).requires_grad_();
  GradientReducer reducer({single, twice}, *collectives, {{std::nullopt}, Overlap::yes});

  reducer.zero();
  reducer.arm();
  (single.to(at::kDouble) * twice).sum().backward();
  reducer.finish();

  EXPECT_EQ(reducer.flats().size(), 2U);
  EXPECT_TRUE(at::allclose(single.grad(), twice.detach().to(at::kFloat) * world().size()));
  EXPECT_TRUE(at::allclose(twice.grad(), single.detach().to(at::kDouble) * world().size()));
}

TEST(GradientReducer, LeavesParametersAloneAfterItsEnd) {
  const at::Tensor parameter = made({10}, 1, at::kFloat).requires_grad_();
  {
    const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
    GradientReducer reducer({parameter}, *collectives, {{std::nullopt}, Overlap::yes});
    reducer.arm();
    reducer.finish();
  }

  parameter.sum().backward();

  EXPECT_EQ(parameter.grad().sum().item<float>(), 10);
}

TEST(GradientReducer, RefusesToArmTwiceWithSumsUnderWayAndBadParameters) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const at::Tensor parameter = made({10}, 1, at::kFloat).requires_grad_();
  EXPECT_THROW(GradientReducer({at::rand({2})}, *collectives, {{std::nullopt}, Overlap::no}), std::invalid_argument);
  GradientReducer reducer({parameter}, *collectives, {{std::nullopt}, Overlap::yes});

  reducer.arm();
  parameter.sum().backward();

  EXPECT_THROW(reducer.arm(), std::logic_error);
  EXPECT_THROW(parameter.sum().backward(), std::logic_error);
  reducer.finish();
}

TEST(BucketPlan, CutsInReverseOrderAtTheLimit) {
  std::vector<at::Tensor> parameters;
  for (int i = 0; i < 5; ++i)
    parameters.push_back(at::rand({1000}));  // 1024 with its alignment: 4096 bytes

  const BucketPlan plan = BucketPlan::make(parameters, {8500, 8500});

  ASSERT_EQ(plan.buckets.size(), 3U);
  EXPECT_EQ(plan.places[4].bucket, 0U);
  EXPECT_EQ(plan.places[3].bucket, 0U);
  EXPECT_EQ(plan.places[0].bucket, 2U);
  EXPECT_EQ(plan.places[4].offset, 0);
  EXPECT_EQ(plan.places[0].offset, 4096);
  EXPECT_EQ(plan.buckets[2].num_members, 1);
  EXPECT_EQ(plan.capacity.at(at::kFloat), 5120);
}

TEST(BucketPlan, HasAShorterFirstBucket) {
  const std::vector<at::Tensor> parameters(6, at::rand({1000}));

  const BucketPlan plan = BucketPlan::make(parameters, {4096, 3 * 4096});

  ASSERT_EQ(plan.buckets.size(), 3U);
  EXPECT_EQ(plan.buckets[0].num_members, 1);
  EXPECT_EQ(plan.buckets[1].num_members, 3);
  EXPECT_EQ(plan.buckets[2].num_members, 2);
}

TEST(BucketPlan, TakesFourMebibytesOverMpi) {
  const auto collectives = make_collectives(Backend::mpi, world(), at::kCPU);
  std::vector<at::Tensor> parameters;
  for (int i = 0; i < 12; ++i)
    parameters.push_back(at::rand({1 << 18}).requires_grad_());  // 1 MiB

  const GradientReducer reducer(parameters, *collectives, {});

  EXPECT_EQ(reducer.num_buckets(), 4U);  // 1, 4, 4 and 3 MiB
}

}  // namespace
}  // namespace multicard
