#include "base/ShellWord.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(ShellWord, QuotesWordsForTheShell) {
  EXPECT_EQ(shell_word("results/run-1/results.h5"), "results/run-1/results.h5");
  EXPECT_EQ(shell_word("my runs/results.h5"), "'my runs/results.h5'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$(date)"), "'$(date)'");
  EXPECT_EQ(shell_word(""), "''");
}

}  // namespace
}  // namespace multicard
