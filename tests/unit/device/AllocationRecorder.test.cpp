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

// 8 bytes a row that are kept, then a table of 4,000 beside them.
TEST(AllocationRecorder, PredictsThePeakOfMoreRows) {
  const SizedWork work = [](std::int64_t rows) {
    return [rows] {
      const at::Tensor kept = at::empty({rows}, at::kDouble);
      { const at::Tensor table = at::empty({1000}, at::kFloat); }
      const at::Tensor more = at::empty({rows}, at::kDouble);
    };
  };
  EXPECT_EQ(predicted_peak(at::kCPU, work, {10, 20}, 100), 800 + 4000);
  EXPECT_EQ(predicted_peak(at::kCPU, work, {10, 20}, 10000), 2 * 80000);
}

}  // namespace
}  // namespace multicard
