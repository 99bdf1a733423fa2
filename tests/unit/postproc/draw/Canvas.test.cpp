#include "postproc/draw/Canvas.hpp"

#include <gtest/gtest.h>

namespace multicard::post {
namespace {

TEST(Canvas, ScalesEndOnRoundNumbers) {
  EXPECT_DOUBLE_EQ(scale_for(727).max, 800);
  EXPECT_DOUBLE_EQ(scale_for(727).step, 200);
  EXPECT_DOUBLE_EQ(scale_for(1).step, 0.2);
  EXPECT_DOUBLE_EQ(scale_for(4).max, 4);
  EXPECT_DOUBLE_EQ(scale_for(0).max, 1);
}

TEST(Canvas, BreaksLinesAtBlanks) {
  EXPECT_EQ(wrapped("one two three", 1000, 14), std::vector<std::string>{"one two three"});
  EXPECT_EQ(wrapped("one two three", 1, 14), (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_TRUE(wrapped("", 100, 14).empty());
}

}  // namespace
}  // namespace multicard::post
