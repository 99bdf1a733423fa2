// Clock, uploads, readback and memory counters on a GPU. Skipped without one.
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include "base/Clock.hpp"
#include "device/BatchUploader.hpp"
#include "device/Device.hpp"
#include "device/Memory.hpp"
#include "device/Readback.hpp"
#include "device/StagedCopies.hpp"
#include "device/StepClock.hpp"
#include "support/no_waiting.hpp"

namespace multicard {
namespace {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (visible_gpus().empty()) GTEST_SKIP() << "no GPU";
    use_gpu(0);
  }
  at::Device device_{at::kCUDA, 0};
};

TEST_F(OnGpu, GpusAreDescribed) {
  const GpuInfo gpu = visible_gpus().at(0);
  EXPECT_FALSE(gpu.name.empty());
  EXPECT_FALSE(gpu.bus_id.empty());
  EXPECT_GT(gpu.memory_bytes, 0);
  EXPECT_GT(gpu.compute_major, 0);
  EXPECT_FALSE(gpu_software().driver.empty());
}

TEST_F(OnGpu, StepClockMeasuresWhatTheGpuDid) {
  StepClock clock(device_);
  EXPECT_STREQ(clock.name(), "device");
  at::Tensor x = at::rand({4096, 4096}, at::TensorOptions().device(device_));
  const TimePoint start = SteadyClock::now();

  clock.begin_step();
  for (int step = 0; step < 3; ++step) {
    clock.enter(Phase::forward);
    for (int i = 0; i < 20; ++i)
      x = at::mm(x, x).mul_(1e-4);
    clock.enter(Phase::update);
    clock.end_step();
  }
  const auto steps = clock.take_all();
  const double wall_s = seconds_since(start);

  ASSERT_EQ(steps.size(), 3U);
  double sum_s = 0;
  for (const StepTimes& step : steps) {
    EXPECT_GT(step.phases[static_cast<std::size_t>(Phase::forward)], 0.9 * step.step);
    sum_s += step.step;
  }
  EXPECT_LE(sum_s, wall_s);
}

TEST_F(OnGpu, UploadsArriveInOrderAndAreCounted) {
  const auto uploader = make_batch_uploader(device_);
  std::vector<at::Tensor> sent;
  for (int i = 0; i < 4; ++i)
    sent.push_back(at::rand({1000, 100}).pin_memory());

  uploader->start({sent[0], at::Tensor()});
  for (std::size_t i = 0; i < 4; ++i) {
    if (i + 1 < 4) uploader->start({sent[i + 1], at::Tensor()});
    const auto batch = uploader->take();
    EXPECT_TRUE(at::equal(batch.at(0).cpu(), sent[i]));
    EXPECT_FALSE(batch.at(1).defined());
  }

  EXPECT_EQ(uploader->bytes_copied(), 4 * 400000);
}

TEST_F(OnGpu, StagedCopiesArrive) {
  StagedCopies copies;
  std::vector<at::Tensor> sent, there;
  for (const std::int64_t numel : {1, 1000, 3'000'000, 5, 9'000'000, 2'000'000}) {  // the pieces hold 4,194,304
    sent.push_back(at::rand({numel}));
    there.push_back(at::empty({numel}, at::TensorOptions(at::kFloat).device(device_)));
    copies.copy(there.back(), sent.back());
  }
  sent.push_back(at::rand({4, 3, 5, 5}));
  there.push_back(at::empty(
      {4, 3, 5, 5}, at::TensorOptions(at::kDouble).device(device_).memory_format(at::MemoryFormat::ChannelsLast)));
  copies.copy(there.back(), sent.back());
  copies.finish();

  for (std::size_t i = 0; i < sent.size(); ++i)
    EXPECT_TRUE(at::equal(there[i].cpu(), sent[i].to(there[i].scalar_type()))) << i;
}

TEST_F(OnGpu, ReadbackWaitsForNothingThatCameAfterIt) {
  const auto on_device = at::TensorOptions().dtype(at::kDouble).device(device_);
  const auto readback = make_readback(device_);
  const auto marks = make_device_marks(device_);
  const at::Tensor status = at::full({3}, 7, on_device), x = at::full({4096, 4096}, 1e-4, on_device);
  const test::NoWaiting no_waiting;

  readback->start({status, status.narrow(0, 0, 1).to(at::kFloat)});
  status.fill_(8);  // after the copy
  for (int i = 0; i < 20; ++i)
    at::mm(x, x);
  const TimeMarks::Mark end = marks->set();
  const std::vector<double> values = readback->take();

  EXPECT_FALSE(marks->reached(end));
  EXPECT_EQ(values, (std::vector<double>{7, 7, 7, 7}));
}

TEST_F(OnGpu, BatchSumsAreThoseOfTheValuesWhenTheyWereAdded) {
  const at::Tensor value = at::full({}, 1, at::TensorOptions().dtype(at::kFloat).device(device_));
  BatchSums sums(device_, 1);

  for (int i = 0; i < 50; ++i) {
    sums.add(value);
    value.add_(1);
  }

  EXPECT_EQ(sums.finish().front(), 50 * 51 / 2);
}

TEST_F(OnGpu, MemoryHasAPeak) {
  reset_peak_device_memory(device_);
  { const at::Tensor big = at::rand({1 << 20}, at::TensorOptions().device(device_)); }

  EXPECT_GE(device_memory(device_).peak_allocated, 4 << 20);
  EXPECT_GE(device_memory(device_).peak_reserved, device_memory(device_).peak_allocated);
}

}  // namespace
}  // namespace multicard
