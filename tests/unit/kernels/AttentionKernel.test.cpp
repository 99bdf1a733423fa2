// Which attention is chosen, and that of tokens that continue a sequence.
#include "kernels/AttentionKernel.hpp"

#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include "token_results.hpp"

namespace multicard {
namespace {

TEST(AttentionKernel, IsFlashAttentionFromAmpereOn) {
  EXPECT_TRUE(takes_flash_attention(at::kBFloat16, 128, 9));
  EXPECT_TRUE(takes_flash_attention(at::kHalf, 64, 8));
  EXPECT_FALSE(takes_flash_attention(at::kHalf, 64, 7));  // a T4
  EXPECT_FALSE(takes_flash_attention(at::kFloat, 64, 9));
  EXPECT_FALSE(takes_flash_attention(at::kBFloat16, 60, 9));
  EXPECT_FALSE(takes_flash_attention(at::kBFloat16, 264, 9));
}

TEST(AttentionKernel, ContinuesASequenceAsOfTheWhole) {
  constexpr std::int64_t kTokens = 11, kHeads = 6, kKvHeads = 2, kDim = 8;
  const AttentionInputs all{at::randn({kTokens, kHeads, kDim}, at::kDouble),
                            at::randn({kTokens, kKvHeads, kDim}, at::kDouble),
                            at::randn({kTokens, kKvHeads, kDim}, at::kDouble)};
  for (const std::int64_t window : {0, 4}) {
    const at::Tensor whole = continued_attention(all, window);
    for (const std::int64_t count : {1, 3, 10})
      for (const std::int64_t past : {std::int64_t{0}, kTokens - count}) {
        const AttentionInputs part{all.q.narrow(0, past, count), all.k.narrow(0, 0, past + count),
                                   all.v.narrow(0, 0, past + count)};
        EXPECT_LT(test::distance(continued_attention(part, window), whole.narrow(0, past, count)), 1e-13)
            << count << " after " << past;
      }
  }
}

}  // namespace
}  // namespace multicard
