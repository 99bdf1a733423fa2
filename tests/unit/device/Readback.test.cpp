#include "device/Readback.hpp"

#include <stdexcept>

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(Readback, GivesValuesInTheOrderTheyWentIn) {
  const auto readback = make_readback(at::kCPU);
  const at::Tensor values = at::tensor({1.0, 2.0}, at::kDouble);

  readback->start({values});
  values.mul_(10);  // what comes later does not change what was started
  readback->start({values});

  EXPECT_EQ(readback->num_started(), 2U);
  EXPECT_EQ(readback->take(), (std::vector<double>{1, 2}));
  EXPECT_EQ(readback->take(), (std::vector<double>{10, 20}));
  EXPECT_EQ(readback->num_started(), 0U);
}

TEST(Readback, TakesTensorsOfAnyTypesAtOnce) {
  const auto readback = make_readback(at::kCPU);

  readback->start({at::tensor({1, 2}, at::kLong), at::full({}, 0.5, at::kFloat), at::full({2, 1}, 3, at::kDouble)});

  EXPECT_EQ(readback->take(), (std::vector<double>{1, 2, 0.5, 3, 3}));
}

TEST(Readback, HasNothingToTakeBeforeAStart) {
  const auto readback = make_readback(at::kCPU);

  EXPECT_THROW(readback->take(), std::logic_error);
}

TEST(BatchSums, AddInFloat64InTheOrderOfTheBatches) {
  BatchSums sums(at::kCPU, 1);
  double expected = 0;

  for (int i = 1; i <= 100; ++i) {
    const float value = 1e10F / static_cast<float>(i);
    sums.add(at::full({}, value, at::kFloat));
    expected += value;
  }

  EXPECT_EQ(sums.finish().front(), expected);
}

TEST(BatchSums, AreZeroWithoutBatchesAndGoOnAfterBeingRead) {
  BatchSums sums(at::kCPU, 2);

  const std::vector<double> empty = sums.finish();
  sums.add(at::tensor({1, 2}, at::kLong));
  const std::vector<double> one = sums.finish();
  sums.add(at::tensor({1, 2}, at::kLong));

  EXPECT_EQ(empty, (std::vector<double>{0, 0}));
  EXPECT_EQ(one, (std::vector<double>{1, 2}));
  EXPECT_EQ(sums.finish(), (std::vector<double>{2, 4}));
}

}  // namespace
}  // namespace multicard
