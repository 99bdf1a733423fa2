#include "device/StagedCopies.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(StagedCopies, ConvertsTypesAndLayouts) {
  const at::Tensor from = at::arange(2 * 3 * 4 * 5, at::kFloat).view({2, 3, 4, 5});
  const at::Tensor to =
      at::empty({2, 3, 4, 5}, at::TensorOptions(at::kDouble).memory_format(at::MemoryFormat::ChannelsLast));
  StagedCopies copies;
  copies.copy(to, from);
  copies.finish();

  EXPECT_TRUE(to.equal(from.to(at::kDouble)));
  EXPECT_TRUE(to.is_contiguous(at::MemoryFormat::ChannelsLast));
}

}  // namespace
}  // namespace multicard
