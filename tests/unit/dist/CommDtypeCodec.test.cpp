#include "dist/CommDtypeCodec.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "values.hpp"

namespace multicard {
namespace {

/// All float32 with a zero lower half or one near it: every value of both types, every tie and its neighbours.
std::vector<float> probes() {
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000; ++high)
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x0FFFU, 0x1000U, 0x1001U, 0x7FFFU, 0x8000U, 0x8001U, 0xF000U})
      values.push_back(std::bit_cast<float>(high << 16 | low));
  return values;
}

bool same(float a, float b) {
  return std::isnan(b) ? std::isnan(a) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

class CommDtypeCodecs : public testing::TestWithParam<CommDtype> {};

TEST_P(CommDtypeCodecs, RoundAsTorchDoes) {
  const std::vector<float> values = probes();
  for (const CommDtypeCodec codec : {codec_of(GetParam()), portable_codec_of(GetParam())}) {
    std::vector<std::uint16_t> words(values.size());
    std::vector<float> back(values.size());

    codec.pack(values.data(), words.data(), values.size());
    codec.unpack(words.data(), back.data(), words.size());

    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(same(back[i], test::rounded(values[i], GetParam()))) << values[i] << " became " << back[i];

    std::vector<float> rounded(values.size());
    codec.round(values.data(), rounded.data(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(same(rounded[i], back[i])) << values[i] << " became " << rounded[i];
  }
}

TEST_P(CommDtypeCodecs, KeepToTheirArraysWhateverTheLength) {
  for (const CommDtypeCodec codec : {codec_of(GetParam()), portable_codec_of(GetParam())})
    for (std::size_t count = 0; count < 40; ++count) {
      std::vector<float> values(count + 1, 1.5F), back(count + 1, -1);
      std::vector<std::uint16_t> words(count + 1, 7);

      codec.pack(values.data(), words.data(), count);
      codec.unpack(words.data(), back.data(), count);

      EXPECT_EQ(words[count], 7);
      EXPECT_EQ(back[count], -1);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(back[i], 1.5F) << i << " of " << count;
      std::fill(back.begin(), back.end(), -1.0F);
      codec.round(values.data(), back.data(), count);
      EXPECT_EQ(back[count], -1);
      EXPECT_EQ(std::count(back.begin(), back.end(), 1.5F), static_cast<std::ptrdiff_t>(count));
    }
}

INSTANTIATE_TEST_SUITE_P(Types, CommDtypeCodecs, testing::Values(CommDtype::bf16, CommDtype::fp16));

}  // namespace
}  // namespace multicard
