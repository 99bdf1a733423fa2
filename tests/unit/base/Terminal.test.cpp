#include "base/Terminal.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

/// While it lives, standard error leads to a terminal of some width.
class TerminalAtStandardError {
 public:
  explicit TerminalAtStandardError(unsigned short columns) : saved_(dup(STDERR_FILENO)) {
    winsize size{24, columns, 0, 0};
    EXPECT_EQ(openpty(&leader_, &follower_, nullptr, nullptr, &size), 0);
    dup2(follower_, STDERR_FILENO);
  }
  ~TerminalAtStandardError() {
    dup2(saved_, STDERR_FILENO);
    for (const int descriptor : {saved_, leader_, follower_})
      close(descriptor);
  }
  void resize(unsigned short columns) const {
    const winsize size{24, columns, 0, 0};
    ioctl(leader_, TIOCSWINSZ, &size);
  }

 private:
  int saved_, leader_ = -1, follower_ = -1;
};

/// While it lives, standard error is a pipe.
class PipeAtStandardError {
 public:
  PipeAtStandardError() : saved_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe(ends_.data()), 0);
    dup2(ends_[1], STDERR_FILENO);
  }
  ~PipeAtStandardError() {
    dup2(saved_, STDERR_FILENO);
    for (const int descriptor : {saved_, ends_[0], ends_[1]})
      close(descriptor);
  }

 private:
  int saved_;
  std::array<int, 2> ends_{};
};

TEST(Terminal, IsFoundWithItsWidthAndFollowsResizing) {
  setenv("TERM", "xterm", 1);
  const TerminalAtStandardError pseudo(123);
  const Terminal terminal;

  EXPECT_TRUE(terminal.is_there());
  EXPECT_TRUE(terminal.can_rewrite());
  EXPECT_EQ(terminal.columns(), 123U);
  pseudo.resize(61);
  EXPECT_EQ(terminal.columns(), 61U);
}

TEST(Terminal, CannotRewriteLinesWhereItIsDumbOrMpirunLabelsThem) {
  const TerminalAtStandardError pseudo(80);
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(Terminal().can_rewrite());
  setenv("TERM", "xterm", 1);
  setenv("OMPI_MCA_orte_tag_output", "1", 1);
  EXPECT_FALSE(Terminal().can_rewrite());
  unsetenv("OMPI_MCA_orte_tag_output");
  EXPECT_TRUE(Terminal().can_rewrite());
}

TEST(Terminal, IsNotThereThroughAPipeThatNoMpirunReads) {
  setenv("COLUMNS", "97", 1);
  const PipeAtStandardError pipe;
  const Terminal terminal;

  EXPECT_FALSE(terminal.is_there());
  EXPECT_FALSE(terminal.can_rewrite());
  EXPECT_EQ(terminal.columns(), 97U);
  unsetenv("COLUMNS");
  EXPECT_EQ(terminal.columns(), std::nullopt);
}

TEST(Terminal, ProgressModeIsReadFromTheEnvironment) {
  for (const auto& [word, mode] : {std::pair{"", ProgressMode::automatic}, std::pair{"auto", ProgressMode::automatic},
                                   std::pair{"live", ProgressMode::live}, std::pair{"plain", ProgressMode::plain},
                                   std::pair{"off", ProgressMode::off}}) {
    setenv("MULTICARD_PROGRESS", word, 1);
    EXPECT_EQ(progress_mode(), mode) << word;
  }
  setenv("MULTICARD_PROGRESS", "lively", 1);
  EXPECT_THROW(progress_mode(), UsageError);
  unsetenv("MULTICARD_PROGRESS");
}

TEST(Terminal, WrapsBetweenWordsAndIndents) {
  EXPECT_EQ(wrapped("output    to some folder", 24, 10), "output    to some folder");
  EXPECT_EQ(wrapped("output    to some folder", 23, 10), "output    to some\n          folder");
  EXPECT_EQ(wrapped("a /a/path/that/is/longer/than/a/line b", 10, 2), "a\n  /a/path/that/is/longer/than/a/line\n  b");
  EXPECT_EQ(wrapped("ää ää ää", 5, 0), "ää ää\nää");
  EXPECT_EQ(wrapped("weights 973 kB, loader 1 MB", 12, 0), "weights\n973 kB,\nloader 1 MB");
}

}  // namespace
}  // namespace multicard
