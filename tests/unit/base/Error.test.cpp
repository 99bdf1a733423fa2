#include "base/Error.hpp"

#include <cerrno>

#include <gtest/gtest.h>

#include "base/ErrorReport.hpp"

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

TEST(Error, SaysHowALimitOfTheSystemIsRaised) {
  const DataError files("a.h5 cannot be read", "opening it: " + system_error_text(EMFILE), "Prepare it again.");
  const DataError size("a.h5 cannot be written", system_error_text(EFBIG));
  const UsageError deck("the deck cannot be read", system_error_text(ENFILE));

  EXPECT_EQ(files.code(), ExitCode::environment);
  EXPECT_NE(files.suggestion().find("ulimit -n"), std::string::npos) << files.what();
  EXPECT_EQ(files.suggestion().find("Prepare"), std::string::npos) << files.what();
  EXPECT_EQ(size.code(), ExitCode::data);
  EXPECT_NE(size.suggestion().find("ulimit -f"), std::string::npos) << size.what();
  EXPECT_EQ(deck.code(), ExitCode::environment);
}

TEST(Error, KnowsTheProgramsExitCodes) {
  EXPECT_EQ(exit_code_of(0), ExitCode::complete);
  EXPECT_EQ(exit_code_of(6), ExitCode::numerical);
  EXPECT_EQ(exit_code_of(75), ExitCode::stopped);
  for (const std::int64_t number : {-1LL, 7LL, 74LL, 256LL, 1LL << 32})
    EXPECT_EQ(exit_code_of(number), std::nullopt) << number;
}

TEST(Error, ThatEndsAProgramSaysWhatToDoOnALineOfItsOwn) {
  EXPECT_EQ(error_report(UsageError("a.yaml cannot be read", "no such file", "Did you mean b.yaml?")),
            "a.yaml cannot be read (no such file)\n  Did you mean b.yaml?");
  EXPECT_EQ(error_report(UsageError("a.yaml cannot be read")), "a.yaml cannot be read");
}

}  // namespace
}  // namespace multicard
