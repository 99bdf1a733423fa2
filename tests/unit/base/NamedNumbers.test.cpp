#include "base/NamedNumbers.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

const NamedNumbers kNumbers{
    {"scale", 0.5}, {"steps", 7}, {"before", -1}, {"huge", 1e300}, {"most", 9007199254740992.0}};

TEST(NamedNumbers, AreFoundByTheirNames) {
  EXPECT_EQ(number_of(kNumbers, "scale"), 0.5);
  EXPECT_FALSE(number_of(kNumbers, "other"));
  EXPECT_EQ(whole_number_of(kNumbers, "steps"), 7);
  EXPECT_EQ(whole_number_of(kNumbers, "before", -1), -1);
  EXPECT_EQ(whole_number_of(kNumbers, "most"), std::int64_t{1} << 53);
  EXPECT_FALSE(whole_number_of(kNumbers, "other"));
}

TEST(NamedNumbers, AreRefusedByNameWhereTheyAreNotWholeOrOutOfRange) {
  for (const char* name : {"scale", "before", "huge"}) {
    try {
      whole_number_of(kNumbers, name);
      ADD_FAILURE() << name;
    } catch (const DataError& error) {
      EXPECT_NE(error.problem().find(name), std::string::npos) << error.problem();
    }
  }
}

}  // namespace
}  // namespace multicard
