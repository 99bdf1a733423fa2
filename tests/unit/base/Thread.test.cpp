#include "base/Thread.hpp"

#include <array>
#include <atomic>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include "base/Error.hpp"
#include "base/System.hpp"

namespace multicard {
namespace {

/// Leaves no address space for the stack of a further thread.
class NoRoomForThreads {
 public:
  NoRoomForThreads() {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit small{1, before_.rlim_max};
    setrlimit(RLIMIT_AS, &small);
  }
  ~NoRoomForThreads() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

TEST(Thread, RunsItsBody) {
  std::atomic<int> calls{0};
  std::array<char, 16> name{};
  std::thread thread = start_thread("a thread", "counter", [&] {
    ++calls;
    pthread_getname_np(pthread_self(), name.data(), name.size());
  });
  thread.join();
  EXPECT_EQ(calls, 1);
  EXPECT_STREQ(name.data(), "counter");
}

TEST(Thread, ThatCannotBeStartedIsAnErrorOfTheEnvironment) {
  try {
    const NoRoomForThreads limit;
    require_threads(100, "a worker");  // more than the library keeps stacks of
    FAIL() << "they were started";
  } catch (const EnvironmentError& error) {
    EXPECT_EQ(error.problem(), "a worker cannot be started");
    EXPECT_EQ(error.why(), "Resource temporarily unavailable");
    EXPECT_NE(error.suggestion().find("data.workers"), std::string::npos);
  }
}

TEST(Thread, AsManyAsAreNeededAreTriedOut) {
  EXPECT_NO_THROW(require_threads(8, "the pool"));
}

}  // namespace
}  // namespace multicard
