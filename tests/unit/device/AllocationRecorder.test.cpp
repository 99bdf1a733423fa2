#include "device/AllocationRecorder.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(AllocationRecorder, RecordsWhatIsTakenAndGivenBack) {
  const AllocationRecorder recorder(at::kCPU);
  {
    const at::Tensor kept = at::empty({1000}, at::kFloat);
    const at::Tensor freed = at::empty({5000}, at::kFloat);
  }

  const AllocationTrace trace = recorder.trace();
  ASSERT_EQ(trace.num_allocations(), 2U);
  EXPECT_GE(trace.bytes(0), 4000);
  EXPECT_GE(trace.bytes(1), 20000);
  EXPECT_EQ(trace.peak(), trace.bytes(0) + trace.bytes(1));
  EXPECT_TRUE(trace.is_transient(1));
}

TEST(AllocationRecorder, RecordsBackward) {
  const at::Tensor x = at::ones({1000}, at::kFloat).requires_grad_(true);
  const AllocationRecorder recorder(at::kCPU);
  const at::Tensor loss = x.exp().sum();
  const std::size_t in_forward = recorder.trace().num_allocations();
  loss.backward();

  EXPECT_GT(recorder.trace().num_allocations(), in_forward);
}

TEST(AllocationRecorder, KnowsTheStageOfWork) {
  const StageOfWork without_recorder(WorkStage::logits);
  const AllocationRecorder recorder(at::kCPU);
  const at::Tensor before = at::empty({10});
  {
    const StageOfWork backward(WorkStage::backward);
    const at::Tensor inside = at::empty({10});
    const StageOfWork logits(WorkStage::logits);
    const at::Tensor innermost = at::empty({10});
  }
  const at::Tensor after = at::empty({10});

  const AllocationTrace trace = recorder.trace();
  EXPECT_EQ(trace.stage(0), WorkStage::forward);
  EXPECT_EQ(trace.stage(1), WorkStage::backward);
  EXPECT_EQ(trace.stage(2), WorkStage::logits);
  EXPECT_EQ(trace.stage(3), WorkStage::forward);
}

// 8 bytes a row that are kept, then a table of 4,000 in addition to them.
TEST(AllocationRecorder, PredictsThePeakOfMoreRows) {
  const SizedWork work = [](std::int64_t rows) {
    return [rows] {
      const at::Tensor kept = at::empty({rows}, at::kDouble);
      { const at::Tensor table = at::empty({1000}, at::kFloat); }
      const at::Tensor more = at::empty({rows}, at::kDouble);
    };
  };
  EXPECT_EQ(measured_pair(at::kCPU, work, {10, 20}).peak(100), 800 + 4000);
  EXPECT_EQ(measured_pair(at::kCPU, work, {10, 20}).peak(10000), 2 * 80000);
}

}  // namespace
}  // namespace multicard
