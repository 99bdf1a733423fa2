// A sum that one rank does not join must end the job with exit code 5 and say what it waited for. Started by CTest
// through a shell that looks at both.
#include <thread>

#include <gtest/gtest.h>

#include "comm/Watchdog.hpp"
#include "dist/TensorCollectives.hpp"
#include "support/test_world.hpp"
#include "values.hpp"

namespace multicard {
namespace {

void leave_others_waiting(std::int64_t numel) {
  const auto collectives = make_collectives(Backend::mpi, test::world(), at::kCPU);
  test::world().watchdog()->set_limit(1);
  test::world().watchdog()->set_step(7);
  if (test::world().rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(30));
  collectives->all_reduce(test::values<float>(numel, 0));
}

TEST(Timeout, OfALargeSum) {
  leave_others_waiting(1000000);
}

TEST(Timeout, OfASmallSum) {
  leave_others_waiting(10);
}

}  // namespace
}  // namespace multicard
