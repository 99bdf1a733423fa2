#include "scheduling/model/StepTimeModel.hpp"

#include <array>
#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "published/PolluxForm.hpp"
#include "scheduling/model/ModelFit.hpp"

namespace multicard {
namespace {

constexpr auto kNumTerms = static_cast<std::size_t>(StepTerm::count);

/// Parameters of which only those named differ from nothing.
std::vector<double> values_with(std::initializer_list<std::pair<StepTerm, double>> terms) {
  std::vector<double> values(kNumTerms, 0.0);
  values[static_cast<std::size_t>(StepTerm::overlap)] = 1;
  for (const auto& [term, value] : terms)
    values[static_cast<std::size_t>(term)] = value;
  return values;
}

double seconds(const std::vector<double>& values, const StepPoint& at) {
  return seconds_at(StepTimeModel(), values, at);
}

/// The largest difference between derivatives and difference quotients, as a share of the seconds.
double gradient_error(const StepTimeForm& form, const std::vector<double>& values, const StepPoint& at) {
  std::vector<double> gradient(values.size());
  const double here = form.seconds(at, values, gradient);
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::vector<double> more = values;
    std::vector<double> less = values;
    const double step = 1e-6 * values[i];
    more[i] += step;
    less[i] -= step;
    const double slope = (seconds_at(form, more, at) - seconds_at(form, less, at)) / (2 * step);
    worst = std::max(worst, std::abs(slope - gradient[i]) * values[i] / here);
  }
  return worst;
}

TEST(StepTimeModel, OneGpuComputesItsMicroBatchesOneAfterAnother) {
  const std::vector<double> values =
      values_with({{StepTerm::compute_base, 0.1}, {StepTerm::compute_row, 0.01}, {StepTerm::global_latency, 5}});

  EXPECT_NEAR(seconds(values, {.rows_per_gpu = 20}), 0.3, 1e-12);
  EXPECT_NEAR(seconds(values, {.rows_per_gpu = 20, .accumulation = 2}), 0.9, 1e-12);
}

TEST(StepTimeModel, ReducesWithinNodesAndBetweenThem) {
  const std::vector<double> values = values_with({{StepTerm::compute_base, 1},
                                                  {StepTerm::local_latency, 0.1},
                                                  {StepTerm::local_volume, 1e-9},
                                                  {StepTerm::global_latency, 0.2},
                                                  {StepTerm::global_log, 0.05}});
  StepPoint at = placed(std::array{4, 4, 4, 4}, 1);
  at.volume = 1e8;

  // Ring of 4 in a node: 2 * 3/4 * 0.1 s. Four nodes are two doublings.
  EXPECT_NEAR(seconds(values, at), 1 + 0.1 + 0.15 + 0.2 + 0.1, 1e-12);
  at.volume = 0;
  EXPECT_NEAR(seconds(values, at), 1 + 0.1 + 0.2 + 0.1, 1e-12);
}

TEST(StepTimeModel, HidesCommunicationByComputingWhereTheyOverlap) {
  const auto with_overlap = [](double overlap) {
    return seconds(
        values_with({{StepTerm::compute_base, 1}, {StepTerm::local_latency, 0.8}, {StepTerm::overlap, overlap}}),
        placed(std::array{2}, 1));
  };

  EXPECT_NEAR(with_overlap(1), 1.8, 1e-12);
  EXPECT_NEAR(with_overlap(2), std::sqrt(1.64), 1e-12);
  EXPECT_LT(with_overlap(10), 1.02);
}

TEST(StepTimeModel, SmallBatchesTakeTheTimeOfLaunchingAndInputLimitsLargeOnes) {
  const std::vector<double> launching = values_with({{StepTerm::compute_row, 0.01}, {StepTerm::launch_bound, 0.1}});
  const std::vector<double> reading = values_with({{StepTerm::compute_base, 0.1}, {StepTerm::input_row, 0.01}});

  EXPECT_NEAR(seconds(launching, {.rows_per_gpu = 1}), 0.1, 1e-4);
  EXPECT_NEAR(seconds(launching, {.rows_per_gpu = 100}), 1, 1e-4);
  EXPECT_NEAR(seconds(reading, placed(std::array{8}, 10)), 0.8, 1e-4);  // 8 GPUs of a node read 80 rows
}

TEST(StepTimeModel, ShardsSplitTheUpdateAndTensorParallelismTheGradients) {
  const std::vector<double> values =
      values_with({{StepTerm::compute_base, 1}, {StepTerm::optimizer, 0.8}, {StepTerm::global_volume, 1}});
  StepPoint sharded = placed(std::array{1, 1}, 1);
  sharded.optimizer_shards = 2;
  StepPoint tensor = placed(std::array{4, 4}, 1);
  tensor.tensor_parallel = 4;

  EXPECT_NEAR(seconds(values, sharded), 1 + 0.4 + 1, 1e-12);
  EXPECT_NEAR(seconds(values, tensor), 1 + 0.8 + 0.25, 1e-12);
}

TEST(StepTimeModel, DerivativesAreThoseOfTheSeconds) {
  std::vector<double> values;
  for (const FormParameter& parameter : StepTimeModel().parameters())
    values.push_back(parameter.start);
  const std::vector<double> published{0.3, 0.05, 0.1, 0.02, 0.4, 0.01, 2.5};
  StepPoint split = placed(std::array{8, 8, 8, 8}, 2.5);
  split.tensor_parallel = 4;
  split.pipeline_stages = 4;
  split.optimizer_shards = 2;
  split.accumulation = 3;

  for (const StepPoint& at :
       {placed(std::array{1}, 4), placed(std::array{3}, 9), placed(std::array{3, 4, 2}, 1), split}) {
    EXPECT_LT(gradient_error(StepTimeModel(), values, at), 1e-7);
    EXPECT_LT(gradient_error(PolluxForm(), published, at), 1e-7);
  }
}

TEST(StepTimeModel, APlacementCountsGpusNodesAndAdapters) {
  const StepPoint at = placed(std::array{4, 3, 6}, 2);

  EXPECT_EQ(at.gpus, 13);
  EXPECT_EQ(at.nodes, 3);
  EXPECT_EQ(at.max_per_node, 6);
  EXPECT_EQ(at.adapters, 2);
  EXPECT_TRUE(at.unpaired);
  EXPECT_FALSE(placed(std::array{1}, 2).unpaired);
  EXPECT_THROW(placed(std::array{2, 0}, 1), UsageError);
}

}  // namespace
}  // namespace multicard
