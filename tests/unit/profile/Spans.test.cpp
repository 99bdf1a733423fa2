#include "profile/Spans.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

using Spans = std::vector<Span>;

std::vector<std::pair<std::int64_t, std::int64_t>> pairs(const Spans& spans) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const Span& span : spans)
    out.emplace_back(span.begin, span.end);
  return out;
}

TEST(Spans, OfAUnionAreDisjointAndInOrder) {
  const Spans spans = {{30, 40}, {0, 10}, {5, 20}, {20, 25}, {32, 35}, {50, 50}};
  EXPECT_EQ(pairs(united(spans)), (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 25}, {30, 40}, {50, 50}}));
  EXPECT_EQ(total_length(united(spans)), 35);
  EXPECT_TRUE(united({}).empty());
}

TEST(Spans, HaveTheTimeInCommonThatBothCover) {
  const Spans one = {{0, 10}, {20, 30}, {40, 50}}, other = {{5, 25}, {28, 45}};
  EXPECT_EQ(common_length(one, other), 5 + 5 + 2 + 5);
  EXPECT_EQ(common_length(other, one), common_length(one, other));
  EXPECT_EQ(common_length(one, {}), 0);
  EXPECT_EQ(common_length(one, {{10, 20}}), 0);
}

}  // namespace
}  // namespace multicard
