#include "base/ProcessUse.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/compute_for.hpp"

namespace multicard {
namespace {

using namespace std::chrono_literals;
using test::compute_for;

TEST(ProcessUse, CountsTheTimeOfAllThreads) {
  const ProcessUse before = process_use();
  std::thread([] { compute_for(0.05); }).join();
  const ProcessUse after = process_use();
  EXPECT_GE(after.cpu_s - before.cpu_s, 0.05);
  EXPECT_GE(after.minor_faults, before.minor_faults);
}

TEST(ProcessUse, CountsPagesThatAreTouchedForTheFirstTime) {
  constexpr std::size_t kPages = 256;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::int64_t before = process_use().minor_faults;
  auto* const memory = static_cast<char*>(
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kPages; ++i)
    memory[i * page] = 1;
  EXPECT_GE(process_use().minor_faults - before, static_cast<std::int64_t>(kPages));
  munmap(memory, kPages * page);
}

TEST(ProcessUse, CountsTheTimesThatThreadsWaited) {
  const std::int64_t before = process_use().voluntary_switches;
  for (int i = 0; i < 10; ++i)
    std::this_thread::sleep_for(1ms);
  EXPECT_GE(process_use().voluntary_switches - before, 10);
}

TEST(ProcessUse, CountsHowLongTheFirstThreadHadNoCore) {
  const std::optional<double> before = process_use().core_wait_s;
  if (!before) GTEST_SKIP() << "this kernel does not count it";
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  std::thread other([] { compute_for(0.2); });  // inherits the core
  compute_for(0.2);
  other.join();
  sched_setaffinity(0, sizeof all, &all);

  EXPECT_GE(*process_use().core_wait_s - *before, 0.05);
}

}  // namespace
}  // namespace multicard
