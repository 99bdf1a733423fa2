// A sum that one rank does not join must end the job with exit code 5 and say what it waited for. Started by CTest
// through a shell that looks at both.
#include <cstdio>
#include <thread>

#include <gtest/gtest.h>

#include "comm/Watchdog.hpp"
#include "dist/TensorCollectives.hpp"
#include "support/test_world.hpp"
#include "values.hpp"

namespace multicard {
namespace {

using test::world;

void leave_others_waiting(std::int64_t numel) {
  const auto collectives = make_collectives(Backend::mpi, world(), at::kCPU);
  world().watchdog()->set_limit(1);
  world().watchdog()->set_step(7);
  if (world().rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(30));
  collectives->all_reduce(test::values<float>(numel, 0));
}

TEST(Timeout, OfALargeSum) {
  leave_others_waiting(1000000);
}

TEST(Timeout, OfASmallSum) {
  leave_others_waiting(10);
}

/// Groups of every other rank. The first group waits for longer than the second may, which is no error; then a rank of
/// the second keeps its group waiting.
TEST(Timeout, OfOneGroupAmongTwo) {
  const int number = world().rank() % 2;
  const Communicator group = world().split(number, world().rank());
  const auto collectives = make_collectives(Backend::mpi, group, at::kCPU);
  group.watchdog()->set_limit(number == 0 ? 300 : 1);
  group.watchdog()->set_step(number == 0 ? 3 : 11);
  if (number == 0 && !group.is_root()) std::this_thread::sleep_for(std::chrono::seconds(2));
  if (number == 0) collectives->all_reduce(test::values<float>(10, 0));
  world().barrier();
  if (world().is_root()) std::fputs("the patient group has summed\n", stderr);
  if (number == 0 || group.rank() == group.size() - 1) std::this_thread::sleep_for(std::chrono::seconds(30));
  collectives->all_reduce(test::values<float>(10, 0));
}

/// Two runs one after the other on the same ranks, as different groups: the second is not judged by the first's limit.
TEST(Timeout, OfTheSecondOfTwoGroupsOfTheSameRanks) {
  const Communicator strict = world().split(0, world().rank()), patient = world().split(0, world().rank());
  strict.watchdog()->set_limit(0.5);
  const auto collectives = make_collectives(Backend::mpi, patient, at::kCPU);
  patient.watchdog()->set_limit(1.5);
  patient.watchdog()->set_step(5);
  if (world().rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(30));
  collectives->all_reduce(test::values<float>(10, 0));
}

}  // namespace
}  // namespace multicard
