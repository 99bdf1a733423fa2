#include "tasks/setup/RunContext.hpp"

#include <optional>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "comm/Watchdog.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

RunOptions plain_options() {
  RunOptions options;
  options.run.device = DeviceRequest::cpu;
  return options;
}

RunOptions deterministic_options() {
  RunOptions options = plain_options();
  options.run.deterministic = true;
  options.run.timeout_s = 77;
  return options;
}

TEST(RunContext, SetsTheSwitchesOfTheDeckWhileItIsCurrentAndThenSetsThemBack) {
  const ComputeSwitches before = compute_switches();
  const RunContext context(deterministic_options(), world());
  EXPECT_TRUE(compute_switches() == before) << "a context alone changes nothing";
  {
    const RunContext::Current current(context);
    EXPECT_TRUE(compute_switches().is_deterministic);
    EXPECT_TRUE(compute_switches().is_cudnn_deterministic);
    EXPECT_EQ(at::get_num_threads(), context.num_threads());
  }
  EXPECT_TRUE(compute_switches() == before);
}

TEST(RunContext, LetsRunsWorkInTurnAndEndInAnyOrder) {
  const ComputeSwitches before = compute_switches();
  std::optional<RunContext> first(std::in_place, deterministic_options(), world());
  std::optional<RunContext> second(std::in_place, plain_options(), world());
  for (int turn = 0; turn < 2; ++turn) {
    {
      const RunContext::Current current(*first);
      EXPECT_TRUE(compute_switches().is_deterministic);
    }
    const RunContext::Current current(*second);
    EXPECT_FALSE(compute_switches().is_deterministic);
  }
  first.reset();
  EXPECT_TRUE(compute_switches() == before);
  {
    const RunContext::Current current(*second);
    EXPECT_FALSE(compute_switches().is_deterministic);
  }
  EXPECT_TRUE(compute_switches() == before);
}

TEST(RunContext, HasTheTimeOutOfItsCommunicatorForItsLife) {
  Watchdog* const watchdog = world().watchdog();
  if (!watchdog) GTEST_SKIP() << "one rank waits for no other";
  const double limit_before = watchdog->limit();
  {
    const RunContext context(deterministic_options(), world());
    EXPECT_EQ(watchdog->limit(), 77);
  }
  EXPECT_EQ(watchdog->limit(), limit_before);
}

}  // namespace
}  // namespace multicard
