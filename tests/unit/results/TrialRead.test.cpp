#include "results/TrialRead.hpp"

#include <csignal>
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

class TrialRead : public testing::Test {
 protected:
  /// What is said of a file on which a reader ends by `signal`; nothing where it is taken.
  std::string complaint(int signal) const {
    try {
      read_on_trial(file_, [=] { std::raise(signal); });
    } catch (const Error& error) {
      return std::to_string(static_cast<int>(error.code())) + " " + error.what();
    }
    return {};
  }

  const std::string file_ = test::source_path("LICENSE").string();
};

TEST_F(TrialRead, CallsAFileDamagedOnWhichTheReaderCrashes) {
  EXPECT_EQ(complaint(SIGSEGV), "4 " + file_ + " is damaged (libhdf5 crashes while it reads it: Segmentation fault)");
  EXPECT_EQ(complaint(SIGABRT), "4 " + file_ + " is damaged (libhdf5 crashes while it reads it: Aborted)");
  EXPECT_EQ(complaint(SIGXCPU), "4 " + file_ + " is damaged (libhdf5 does not finish)");
}

TEST_F(TrialRead, BlamesTheMachineWhereTheReaderIsKilled) {
  EXPECT_TRUE(complaint(SIGKILL).starts_with("3 ")) << complaint(SIGKILL);
}

TEST_F(TrialRead, NoticesACrashWhereChildrenAreIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);

  const std::string said = complaint(SIGSEGV);

  EXPECT_TRUE(said.starts_with("4 ")) << said;
  EXPECT_EQ(std::signal(SIGCHLD, before), SIG_IGN) << "it is left as it was";
}

TEST_F(TrialRead, LeavesErrorsToTheRealReading) {
  EXPECT_NO_THROW(read_on_trial(file_, [] { throw std::runtime_error("not a results file"); }));
  EXPECT_NO_THROW(read_on_trial(file_));
}

}  // namespace
}  // namespace multicard
