#include "profile/trace/TraceTime.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(TraceTime, IsExactToTheNanosecond) {
  EXPECT_EQ(nanoseconds_of("4752383179805.730"), 4752383179805730);
  EXPECT_EQ(nanoseconds_of("1695835543008415"), 1695835543008415000);
  EXPECT_EQ(nanoseconds_of("1695835543008415.001"), 1695835543008415001);
  EXPECT_EQ(nanoseconds_of("0"), 0);
  EXPECT_EQ(nanoseconds_of("0.001"), 1);
  EXPECT_EQ(nanoseconds_of("-1.5"), -1500);
}

TEST(TraceTime, RoundsFurtherDigits) {
  EXPECT_EQ(nanoseconds_of("1.2344999"), 1234);
  EXPECT_EQ(nanoseconds_of("1.2345"), 1235);
  EXPECT_EQ(nanoseconds_of("0.00049999999999999999999999"), 0);
  EXPECT_EQ(nanoseconds_of("1.23400000000000000000000000000001"), 1234);
}

TEST(TraceTime, KnowsExponents) {
  EXPECT_EQ(nanoseconds_of("1.5e3"), 1500000);
  EXPECT_EQ(nanoseconds_of("1.6958355430084151e+15"), 1695835543008415100);
  EXPECT_EQ(nanoseconds_of("25E-1"), 2500);
  EXPECT_EQ(nanoseconds_of("0e999999"), 0);
}

TEST(TraceTime, RefusesWhatIsNotANumberOrDoesNotFit) {
  for (const char* text : {"", "-", ".", "\"1\"", "1.2.3", "1e", "1e2x", "null", "1 2", "0x10", "nan", "1e30",
                           "99999999999999999", "123456789012345678901234567890", "1e99999999999"})
    EXPECT_FALSE(nanoseconds_of(text)) << text;
}

TEST(TraceTime, RefusesNumbersThatJsonDoesNotHave) {
  for (const char* text : {"01.5", "-01", ".5", "-.5", "5.", "1.e3", "+1", "1e+"})
    EXPECT_FALSE(nanoseconds_of(text)) << text;
}

}  // namespace
}  // namespace multicard
