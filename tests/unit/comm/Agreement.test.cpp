#include "comm/Agreement.hpp"

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

TEST(Agreement, PassesWhenAllRanksDo) {
  EXPECT_EQ(agreed(world(), [] { return 7; }), 7);
}

TEST(Agreement, ThrowsTheErrorOfOneRankOnAll) {
  const int last = world().size() - 1;
  try {
    agreed(world(), [&] {
      if (world().rank() == last) throw DataError("file x", "it is missing", "Make it.");
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_EQ(error.scope(), Scope::all_ranks);
    EXPECT_STREQ(error.what(), "file x (it is missing) Make it.");
  }
}

TEST(Agreement, TurnsOutOfMemoryIntoAnEnvironmentError) {
  try {
    agreed(world(), [&] {
      if (world().is_root()) throw std::bad_alloc();
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::environment);
  }
}

}  // namespace
}  // namespace multicard
