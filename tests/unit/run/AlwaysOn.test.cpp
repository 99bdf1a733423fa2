// What every run measures costs little: steps of nothing but their measurements, against the same without any.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "base/ProcessUse.hpp"
#include "device/StepClock.hpp"
#include "dist/CommStats.hpp"
#include "profiler/ResourceSampler.hpp"
#include "train/Recorder.hpp"

namespace multicard {
namespace {

constexpr int kSteps = 5000;
constexpr double kMostPerStep = 20e-6, kMostPerSample = 2e-3;

/// Some microseconds of a step's own work.
double work(double value) {
  for (int i = 0; i < 1000; ++i)
    value = value * 0.999 + 1e-3;
  return value;
}

/// As a run of several ranks does: its phases, six sums of gradients, a status and what is recorded.
double measured_steps() {
  StepClock clock(at::kCPU);
  Recorder recorder(clock.name());
  CommStats collectives(2);
  double value = 1;
  clock.begin_step();
  for (int step = 0; step < kSteps; ++step) {
    for (const Phase phase :
         {Phase::data_wait, Phase::transfer, Phase::forward, Phase::backward, Phase::reduce_wait, Phase::update})
      clock.enter(phase);
    for (int bucket = 0; bucket < 7; ++bucket)
      collectives.add(CollectiveKind::all_reduce, 1 << 20, {1e-3, 1e-4, 1e-5});
    value = work(value);
    clock.end_step();
    recorder.add_step_times(clock.take_finished());
    recorder.add_step_samples(8);
    recorder.add_metric("train_loss", step, value);
  }
  return value;
}

double plain_steps() {
  double value = 1;
  for (int step = 0; step < kSteps; ++step)
    value = work(value);
  return value;
}

TEST(AlwaysOn, CostsLittleOfAProcessorForEachStep) {
  std::vector<double> costs;
  double sum = 0;
  for (int round = 0; round < 5; ++round) {
    const double start = process_use().cpu_s;
    sum += measured_steps();
    const double between = process_use().cpu_s;
    sum += plain_steps();
    const double end = process_use().cpu_s;
    costs.push_back(((between - start) - (end - between)) / kSteps);
  }
  std::ranges::sort(costs);
  const double median = costs[costs.size() / 2];
  RecordProperty("microseconds_per_step", std::to_string(median * 1e6));
  EXPECT_LT(median, kMostPerStep);
  EXPECT_GT(sum, 0);  // so that the work is done
}

TEST(AlwaysOn, ASampleOfResourcesCostsLittle) {
  constexpr int kSamples = 100;
  ResourceSampler sampler({.gpu_bus_id = "", .num_sharing = 1, .has_node = true});
  const double start = process_use().cpu_s;
  for (int sample = 0; sample < kSamples; ++sample)
    sampler.sample_and_copy();
  EXPECT_LT((process_use().cpu_s - start) / kSamples, kMostPerSample);
}

}  // namespace
}  // namespace multicard
