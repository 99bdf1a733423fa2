#include "comm/AbortRemovals.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;

/// Runs `body` in a process of its own, which ends without destructors as after an abort.
template <class Body>
void in_aborted_process(Body&& body) {
  const pid_t process = fork();
  ASSERT_GE(process, 0);
  if (process == 0) {
    body();
    std::_Exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(process, &status, 0), process);
  EXPECT_EQ(status, 0);
}

TEST(AbortRemovals, WaitsForAFileThatIsBeingMade) {
  const ScratchFolder scratch;
  const std::string path = scratch / "file";

  in_aborted_process([&] {
    on_abort_remove(path);
    std::atomic<bool> has_guard = false;
    std::thread maker([&] {
      const CreationGuard guard;
      has_guard = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // longer than the passes of an abort took
      std::ofstream(path) << "late";
    });
    while (!has_guard)
      std::this_thread::yield();
    remove_for_abort();
    maker.detach();
  });

  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(AbortRemovals, LetsNoFileBeMadeAfterwards) {
  const ScratchFolder scratch;
  const std::string path = scratch / "file", folder = scratch / "folder";
  std::filesystem::create_directories(folder + "/inner");

  in_aborted_process([&] {
    on_abort_remove(path);
    on_abort_remove(folder);
    remove_for_abort();
    std::thread([&] {
      const CreationGuard guard;
      std::ofstream(path) << "late";
    }).detach();
    std::thread([&] {
      on_abort_remove(path);
      std::ofstream(path) << "late";
    }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });

  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(AbortRemovals, DoesNotWaitForALostRankForEver) {
  const ScratchFolder scratch;
  const std::string path = scratch / "file";
  std::ofstream(path) << "half";

  in_aborted_process([&] {
    on_abort_remove(path);
    const CreationGuard guard;
    std::thread([] { remove_for_abort(); }).join();
  });

  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace multicard
