#include "comm/Signals.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/Thread.hpp"

namespace multicard {
namespace {

/// The signals that each thread of this process blocks, as the kernel shows them.
std::vector<std::uint64_t> blocked_signals() {
  std::vector<std::uint64_t> masks;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(thread.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("SigBlk:")) masks.push_back(std::stoull(line.substr(7), nullptr, 16));
  }
  return masks;
}

/// How many of the threads do not block it.
std::ptrdiff_t num_open(const std::vector<std::uint64_t>& masks, int signal) {
  return std::count_if(masks.begin(), masks.end(), [&](auto mask) { return ((mask >> (signal - 1)) & 1U) == 0; });
}

TEST(Signals, ActInOneThreadAlone) {
  std::atomic<bool> ends = false;
  std::thread loader = start_thread("a thread of the test", "test", [&] {
    while (!ends)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const std::vector<std::uint64_t> masks = blocked_signals();
  ends = true;
  loader.join();
  ASSERT_GE(masks.size(), 3U) << "this one, the signal thread, the loader";
  // The kernel shows what the signal thread waits for as unblocked in that thread.
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGWINCH, SIGCHLD, SIGALRM, SIGPROF, SIGTSTP, SIGXCPU})
    EXPECT_EQ(num_open(masks, signal), 1) << signal_name(signal);
  for (const int signal : {SIGPIPE, SIGXFSZ})
    EXPECT_EQ(num_open(masks, signal), 0) << signal_name(signal);
}

std::thread::id g_handled_by;
std::atomic<int> g_handled = 0;

TEST(Signals, HandlersOfLibrariesRunInThatThread) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {
    g_handled_by = std::this_thread::get_id();
    ++g_handled;
  };
  ASSERT_EQ(sigaction(SIGWINCH, &action, &before), 0);
  ASSERT_EQ(kill(getpid(), SIGWINCH), 0);
  while (g_handled == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  sigaction(SIGWINCH, &before, nullptr);
  EXPECT_NE(g_handled_by, std::this_thread::get_id());
}

TEST(Signals, AreNamed) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGRTMIN), "signal " + std::to_string(SIGRTMIN));
}

}  // namespace
}  // namespace multicard
