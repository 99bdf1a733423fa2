#include "device/AllocationProbe.hpp"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(AllocationProbe, CountsWhatIsAllocatedAndNotFreed) {
  const AllocationProbe probe;
  at::Tensor kept = at::empty({1000}, at::kFloat);
  {
    const at::Tensor freed = at::empty({5000}, at::kFloat);
    EXPECT_GE(probe.live_bytes(), 24000);
  }

  EXPECT_GE(probe.live_bytes(), 4000);
  EXPECT_LT(probe.live_bytes(), 24000);

  kept.reset();
  EXPECT_LT(probe.live_bytes(), 4000);
}

}  // namespace
}  // namespace multicard
