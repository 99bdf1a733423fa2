#include "tasks/RankSetup.hpp"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "comm/Watchdog.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

TEST(ComputeSettings, AreThoseOfTheDeckWhileTheyExistAndThenGivenBack) {
  const Topology topology = find_topology(world());
  const ComputeSwitches before = compute_switches();
  Watchdog* const watchdog = world().watchdog();
  const double limit_before = watchdog ? watchdog->limit() : 0;
  RunOptions options;
  options.run.deterministic = true;
  options.run.timeout_s = 77;
  {
    const ComputeSettings settings(options, world(), topology);
    EXPECT_TRUE(compute_switches().is_deterministic);
    EXPECT_TRUE(compute_switches().is_cudnn_deterministic);
    EXPECT_EQ(at::get_num_threads(), settings.num_threads());
    if (watchdog) {
      EXPECT_EQ(watchdog->limit(), 77);
    }
  }
  EXPECT_TRUE(compute_switches() == before);
  if (watchdog) {
    EXPECT_EQ(watchdog->limit(), limit_before);
  }
}

}  // namespace
}  // namespace multicard
