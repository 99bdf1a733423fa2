#include "base/System.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/BuildInfo.hpp"
#include "base/Clock.hpp"
#include "base/SharedPages.hpp"

namespace multicard {
namespace {

TEST(System, KnowsThisMachine) {
  EXPECT_FALSE(host_name().empty());
  EXPECT_GE(available_cpus(), 1);
  EXPECT_FALSE(cpu_set_text().empty());
  EXPECT_GT(peak_resident_bytes(), 1 << 20);
  EXPECT_GT(resident_bytes(), 1 << 20);
  EXPECT_GT(available_memory_bytes(), 1 << 20);
}

TEST(System, ForgetsThePeakOfMemoryThatIsFree) {
  constexpr std::int64_t kBytes = 200 << 20;
  { const std::vector<char> freed(kBytes, 1); }
  const std::int64_t before = peak_resident_bytes();

  reset_peak_resident_bytes();

  if (peak_resident_bytes() == before) GTEST_SKIP() << "this kernel does not reset it";
  EXPECT_LT(peak_resident_bytes(), before - kBytes / 2);
}

TEST(System, CountsSharedMemoryOfOthersAsTheirs) {
  constexpr std::int64_t kOwn = 16 << 20, kOthers = 48 << 20;
  void* const pages = mmap(nullptr, kOwn + kOthers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  std::memset(pages, 1, kOwn + kOthers);
  const std::int64_t all = resident_bytes(), peak = peak_resident_bytes();

  count_shared_pages(kOwn, kOthers);

  if (resident_bytes_of_others() == 0) GTEST_SKIP() << "this kernel does not say what is shared";
  EXPECT_NEAR(all - resident_bytes(), kOthers, 1 << 20);
  EXPECT_NEAR(peak - peak_resident_bytes(), kOthers, 1 << 20);
  munmap(pages, kOwn + kOthers);
  EXPECT_EQ(resident_bytes_of_others(), 0);
  count_shared_pages(-kOwn, -kOthers);
}

TEST(System, DistinguishesProcessesThatHaveEndedFromThoseThatRun) {
  EXPECT_TRUE(is_running(getpid()));
  EXPECT_TRUE(is_running(1));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t end{};
  waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOWAIT);

  EXPECT_FALSE(is_running(child)) << "its end has not been taken note of yet";
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_running(child));
}

TEST(System, CollectsVariablesByPrefix) {
  setenv("MULTICARD_TEST_A", "1", 1);

  const auto found = environment_with({"MULTICARD_TEST_"});

  EXPECT_EQ(found.at("MULTICARD_TEST_A"), "1");
  EXPECT_EQ(found.count("HOME"), 0u);
}

TEST(Clock, LaunchLiesInThePast) {
  const double since = seconds_since_launch();
  EXPECT_GE(since, -0.02);
  EXPECT_LT(since, 60);
  EXPECT_EQ(utc_now().size(), 20u);
}

TEST(BuildInfo, NamesVersions) {
  EXPECT_EQ(build_info().version, "0.1.0");
  EXPECT_FALSE(build_info().torch.empty());
}

}  // namespace
}  // namespace multicard
