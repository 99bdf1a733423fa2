#include "memory/RankMemory.hpp"

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(CommunicationBytes, OfABucketLargerThanAllGradientsAreThoseOfTheGradients) {
  const std::vector<at::Tensor> gradients{at::zeros({1000}), at::zeros({30, 100})};
  ExchangeOptions options;
  options.gradient_dtype = CommDtype::bf16;
  options.bucket_mb = 100'000;
  const SummingRanks alone{1, false, std::int64_t{4} << 20};

  const std::int64_t bytes = communication_bytes(gradients, options, alone);

  EXPECT_GE(bytes, 2 * 4000);
  EXPECT_LE(bytes, 2 * 4000 + 2 * 2 * 64);
  options.bucket_mb = 0.002;  // less than the larger gradient, which is a bucket by itself
  EXPECT_EQ(communication_bytes(gradients, options, alone), 2 * 3000);
  options.gradient_dtype = CommDtype::same;
  EXPECT_EQ(communication_bytes(gradients, options, alone), 0);
}

}  // namespace
}  // namespace multicard
