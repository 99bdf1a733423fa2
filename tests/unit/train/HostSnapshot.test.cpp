#include "train/HostSnapshot.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

CheckpointParts parts_like(double value) {
  const at::Tensor weight = at::randn({4, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast).set_requires_grad(true);
  return {{"a", {{"weight", weight}, {"count", at::full({}, 7, at::kLong)}}},
          {"b", {{"value", at::full({5}, value, at::kDouble)}}}};
}

TEST(HostSnapshot, HoldWhatTheTensorsHeld) {
  const CheckpointParts parts = parts_like(1.5);
  const at::Tensor before = parts[0].tensors[0].tensor.detach().clone();
  HostSnapshot copies;

  copies.take(parts);
  parts[0].tensors[0].tensor.detach().zero_();
  parts[1].tensors[0].tensor.zero_();

  const CheckpointParts& held = copies.wait();
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].file, "a");
  EXPECT_EQ(held[0].tensors[0].name, "weight");
  EXPECT_TRUE(at::equal(held[0].tensors[0].tensor, before));
  EXPECT_EQ(held[0].tensors[0].tensor.strides(), before.strides());
  EXPECT_FALSE(held[0].tensors[0].tensor.requires_grad());
  EXPECT_EQ(held[0].tensors[1].tensor.item<std::int64_t>(), 7);
  EXPECT_EQ(held[1].tensors[0].tensor[4].item<double>(), 1.5);
}

TEST(HostSnapshot, TakeNoMoreMemoryThanTheirTensors) {
  HostSnapshot copies;
  EXPECT_EQ(copies.num_bytes(), 0);

  copies.prepare({{"a", {{"large", at::zeros({1001}, at::kDouble)}, {"empty", at::zeros({0})}}}, {"b", {}}});

  EXPECT_GE(copies.num_bytes(), 1001 * 8);
  EXPECT_LT(copies.num_bytes(), 1001 * 8 + 64);
}

TEST(HostSnapshot, ReuseTheirBuffers) {
  HostSnapshot copies;
  copies.prepare(parts_like(1));
  copies.take(parts_like(2));
  const void* buffer = copies.wait()[1].tensors[0].tensor.const_data_ptr();

  copies.take(parts_like(3));

  EXPECT_EQ(copies.wait()[1].tensors[0].tensor.const_data_ptr(), buffer);
  EXPECT_EQ(copies.wait()[1].tensors[0].tensor[0].item<double>(), 3);
}

TEST(HostSnapshot, FollowTensorsThatChange) {
  HostSnapshot copies;
  copies.take(parts_like(1));

  copies.take({{"a", {{"value", at::arange(3)}}}});

  ASSERT_EQ(copies.wait().size(), 1u);
  EXPECT_TRUE(at::equal(copies.wait()[0].tensors[0].tensor, at::arange(3)));
}

}  // namespace
}  // namespace multicard
