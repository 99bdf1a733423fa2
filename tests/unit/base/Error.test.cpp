#include "base/Error.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(Error, SaysProblemWhySuggestion) {
  const DataError error("shard a.h5 cannot be opened", "it is truncated", "Prepare it again.");

  EXPECT_STREQ(error.what(), "shard a.h5 cannot be opened (it is truncated) Prepare it again.");
  EXPECT_EQ(error.code(), ExitCode::data);
  EXPECT_EQ(error.scope(), Scope::one_rank);
  EXPECT_EQ(error.on_all_ranks().scope(), Scope::all_ranks);
}

TEST(Error, LeavesOutWhatIsNotKnown) {
  EXPECT_STREQ(UsageError("no deck").what(), "no deck");
  EXPECT_STREQ(UsageError("no deck", "", "Name one.").what(), "no deck. Name one.");
}

TEST(Error, KnowsTheProgramsExitCodes) {
  EXPECT_EQ(exit_code_of(0), ExitCode::complete);
  EXPECT_EQ(exit_code_of(6), ExitCode::numerical);
  EXPECT_EQ(exit_code_of(75), ExitCode::stopped);
  for (const std::int64_t number : {-1LL, 7LL, 74LL, 256LL, 1LL << 32})
    EXPECT_EQ(exit_code_of(number), std::nullopt) << number;
}

}  // namespace
}  // namespace multicard
