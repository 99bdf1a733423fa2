#include "base/Text.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

TEST(Text, PrintsFourSignificantDigits) {
  EXPECT_EQ(significant(0.0), "0");
  EXPECT_EQ(significant(0.123456), "0.1235");
  EXPECT_EQ(significant(12.3456), "12.35");
  EXPECT_EQ(significant(120.0), "120");
  EXPECT_EQ(significant(123456.7), "123457");
  EXPECT_EQ(significant(-2.5), "-2.5");
}

TEST(Text, GroupsThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1234), "-1,234");
}

TEST(Text, CountsInThePluralButForOne) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(2, "data set"), "2 data sets");
  EXPECT_EQ(counted(1234, "step"), "1,234 steps");
}

TEST(Text, PrintsBytesAndDurations) {
  EXPECT_EQ(human_bytes(15.7e6), "15.7 MB");
  EXPECT_EQ(human_bytes(12), "12 B");
  EXPECT_EQ(human_duration(3.21), "3.2 s");
  EXPECT_EQ(human_duration(59), "59 s");
  EXPECT_EQ(human_duration(245), "4 min 05 s");
  EXPECT_EQ(human_duration(7500), "2 h 05 min");
}

TEST(Text, FindsTheNearestWordOnlyWhenItIsNear) {
  const std::vector<std::string> keys{"learning_rate", "momentum", "name"};

  EXPECT_EQ(nearest("learning_rat", keys), "learning_rate");
  EXPECT_EQ(nearest("nmae", keys), "name");
  EXPECT_EQ(nearest("wavelength", keys), std::nullopt);
}

TEST(Text, ExpandsHomeAndVariables) {
  setenv("MULTICARD_TEST_DIR", "/data/x", 1);
  setenv("HOME", "/home/me", 1);

  EXPECT_EQ(expand_path("~/a"), "/home/me/a");
  EXPECT_EQ(expand_path("${MULTICARD_TEST_DIR}/b"), "/data/x/b");
  EXPECT_EQ(expand_path("plain/~/c"), "plain/~/c");
  EXPECT_THROW(expand_path("${MULTICARD_NOT_SET}/b"), UsageError);
  EXPECT_THROW(expand_path("${OPEN"), UsageError);
}

TEST(Text, SplitsAndJoins) {
  EXPECT_EQ(split("a..b", '.'), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
}

}  // namespace
}  // namespace multicard
